// Package slacktest is a Slack on loopback: as much of the Web API, of file
// uploads and of Socket Mode as a bot uses, with members that a test moves and
// faults that a test orders. It shares no code with the channel, and refuses what
// Slack refuses. It follows these facts, from docs.slack.dev unless another source
// is named:
//
//   - A call is a POST of a form or of JSON (JSON not for methods that read), with
//     the token in the header Authorization or the field token. An answer is 200 and
//     {"ok":false,"error":…} for a refusal; 429 has Retry-After in seconds.
//     auth.test names the token's scopes in the header x-oauth-scopes.
//   - A file goes up in three steps. files.getUploadURLExternal wants the exact
//     length, above zero, and an alt_txt of 1,000 characters at most. The upload
//     address takes a POST of the raw bytes, or a multipart form with one file, and
//     no token. files.completeUploadExternal takes 14 files at most and makes them one
//     message. Its answer does not show whether the files are shared: the share
//     follows, and files.info names it under shares.public or shares.private by
//     channel. A file that was completed or never uploaded is file_not_found.
//   - If the parent of a thread_ts does not exist, chat.postMessage answers ok and
//     posts to the channel itself; the answer's message has no thread_ts then
//     (slack-go's issue 1571). Others saw thread_not_found (bolt-js's issue 2307):
//     order that as a Fault. A parent with replies that is deleted stays as a
//     tombstone, and its thread takes further messages. What complete does without a
//     parent is documented nowhere; here it does the same as chat.postMessage.
//   - Socket Mode: apps.connections.open gives an address for one connection. Every
//     event goes to one of the connections. The client answers {"envelope_id":…}. An
//     event that is not acknowledged comes again, as a new envelope with
//     retry_attempt and the same event_id: at once if its connection breaks, otherwise
//     after RetryAfter.
//   - A press of a button is an interactive envelope with a block_actions payload, whose
//     container names the message. chat.update with a text and without blocks removes
//     the blocks.
//   - A mention of the bot in a channel is two events of one ts, message and
//     app_mention, with an event_id each. The bot gets its own messages as events too.
package slacktest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
)

// The kinds of a channel, as events name them in channel_type.
const (
	Public  = "channel"
	Private = "group"
	Direct  = "im"
	Several = "mpim"
)

// Server is a workspace with one app. All its methods may be called at any time.
type Server struct {
	channeltest.Faults[Fault] // by methods; the second step of an upload is "upload", the fetch of a file "download"

	BotToken, AppToken   string
	Team, AppID          string
	BotUser, BotID       string // the bot as a member (U…), and as a bot (B…)
	RetryAfter, PingEach time.Duration
	Ahead                time.Duration // of its clock; set before it is used
	Vague                bool          // files.info names the channels of a file, and not its messages

	srv  *httptest.Server
	dir  string          // where bytes of files lie
	life context.Context // of the connections of Socket Mode
	work sync.WaitGroup

	mu        sync.Mutex
	scopes    []string
	users     []user
	channels  []*channel
	files     map[string]*file
	tickets   map[string]bool
	conns     []*channeltest.Socket
	waiting   []*envelope
	whispers  []string
	events    int // that were made, each with its event_id
	delivered int // envelopes that were written
	last      time.Time
	ids       int
}

type user struct {
	id, name string
	bot      bool
	admin    bool // of the workspace
}

type channel struct {
	id, name, kind, user string
	archived, outside    bool // outside: the bot is no member
	messages             []*Message
	status               []Status
}

// Scopes are those that the app has from the start.
var Scopes = []string{
	"app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write", "groups:history", "groups:read",
	"im:history", "im:read", "im:write", "mpim:history", "mpim:read", "pins:read", "reactions:read", "reactions:write", "users:read", "team:read", "assistant:write",
}

// New starts a workspace, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	return start(t, (*Server).routes)
}

func start(t testing.TB, routes func(*Server) http.Handler) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "slacktest")
	if err != nil {
		t.Fatal(err)
	}
	life, end := context.WithCancel(context.Background())
	s := &Server{
		BotToken: "xoxb-1000000000-2000000000-loopbackloopbackloopback", AppToken: "xapp-1-A0LOOPBACK-3000000000-loopback",
		Team: "T0LOOPBACK", AppID: "A0LOOPBACK", BotID: "B0LOOPBACK",
		RetryAfter: time.Minute, PingEach: 5 * time.Second,
		dir: dir, life: life, scopes: slices.Clone(Scopes),
		files: map[string]*file{}, tickets: map[string]bool{},
	}
	s.BotUser = s.AddBot("longshore")
	all := routes(s)
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(s.Ahead).UTC().Format(http.TimeFormat))
		all.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		end()
		s.srv.CloseClientConnections()
		s.srv.Close()
		s.work.Wait()
		_ = os.RemoveAll(dir)
	})
	return s
}

// URL is the address of the API, with its last slash.
func (s *Server) URL() string { return s.srv.URL + "/api/" }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.api)
	mux.HandleFunc("POST /upload/v1/{id}", s.upload)
	mux.HandleFunc("GET /files-pri/{id}/{name}", s.download)
	mux.HandleFunc("GET /link/", s.socket)
	return mux
}

// AddUser adds a member of the workspace, and returns the member's id.
func (s *Server) AddUser(name string) string { return s.addUser(user{name: name}) }

// AddAdmin adds an admin of the workspace, and returns the id.
func (s *Server) AddAdmin(name string) string { return s.addUser(user{name: name, admin: true}) }

// AddBot adds an app's bot, and returns its id as a member.
func (s *Server) AddBot(name string) string { return s.addUser(user{name: name, bot: true}) }

func (s *Server) addUser(u user) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.id = s.newID("U")
	s.users = append(s.users, u)
	return u.id
}

// AddChannel adds a channel with the bot in it, and returns its id. A direct
// message has the member's id as its name.
func (s *Server) AddChannel(kind, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addChannel(kind, name).id
}

func (s *Server) addChannel(kind, name string) *channel {
	ch := &channel{id: s.newID(map[string]string{Public: "C", Private: "C", Direct: "D", Several: "G"}[kind]), name: name, kind: kind}
	if kind == Direct {
		ch.name, ch.user = "", name
	}
	s.channels = append(s.channels, ch)
	return ch
}

// Archive archives a channel.
func (s *Server) Archive(id string) { s.change(id, func(ch *channel) { ch.archived = true }) }

// Kick removes the bot from a channel.
func (s *Server) Kick(id string) { s.change(id, func(ch *channel) { ch.outside = true }) }

func (s *Server) change(id string, change func(*channel)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.must(id))
}

// SetScopes says which scopes the app has from now on.
func (s *Server) SetScopes(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = scopes
}

// Without is Scopes without some.
func Without(scopes ...string) []string {
	return slices.DeleteFunc(slices.Clone(Scopes), func(s string) bool { return slices.Contains(scopes, s) })
}

func (s *Server) newID(kind string) string {
	s.ids++
	return fmt.Sprintf("%s0LOOP%05d", kind, s.ids)
}

// Now is a time stamp that no other message has.
func (s *Server) Now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// now is Now with the lock held.
func (s *Server) now() string {
	at := time.Now().Add(s.Ahead).Truncate(time.Microsecond)
	if !at.After(s.last) {
		at = s.last.Add(time.Microsecond)
	}
	s.last = at
	return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
}

func (s *Server) channel(id string) *channel {
	i := slices.IndexFunc(s.channels, func(ch *channel) bool { return ch.id == id })
	if i < 0 {
		return nil
	}
	return s.channels[i]
}

// must is for channels that a test names: a wrong one is the test's mistake.
func (s *Server) must(id string) *channel {
	ch := s.channel(id)
	if ch == nil {
		panic("slacktest: no channel " + id)
	}
	return ch
}

func (ch *channel) message(ts string) *Message {
	i, ok := slices.BinarySearchFunc(ch.messages, ts, func(m *Message, ts string) int { return compareTS(m.TS, ts) })
	if !ok {
		return nil
	}
	return ch.messages[i]
}

// compareTS compares two time stamps, whose seconds may have any length.
func compareTS(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
