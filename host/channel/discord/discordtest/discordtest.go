// Package discordtest is Discord on loopback: the part of the HTTP API that the
// channel calls, decoded strictly, the gateway over a real websocket, with sessions that
// can be resumed, and a file server. Tests act as members of one server, and say how
// requests go wrong.
package discordtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
)

type object = map[string]any

// The types of channels.
const (
	typeText   = 0
	typeDirect = 1
	typeThread = 11
)

// The flags of an application that may hear members and the content of messages.
const (
	FlagMembers = 1 << 15
	FlagContent = 1 << 19
)

// GuildID is the server that all channels but direct messages belong to.
const GuildID = "1001"

// Server is Discord. Its fields may be set before the channel runs.
type Server struct {
	channeltest.Faults[Fault] // by the names in the table of routes

	Token, BotID, AppID string
	Flags               int           // of the application
	Tier                int           // boost level of the server
	NonceFor            time.Duration // a nonce counts
	Heartbeat           time.Duration
	NoSessions          bool          // of today, which are spent
	NoVoice             bool          // the bot may not send voice messages
	Ahead               time.Duration // of its clock

	srv  *httptest.Server
	life context.Context
	work sync.WaitGroup

	mu       sync.Mutex
	ids      int
	last     int64 // id of a message
	owner    string
	users    []*user
	channels []*room
	files    map[string][]byte // by path
	nonces   map[string]*Message
	sessions []*session
	commands []Command
	acted    map[string]*Acted // by interaction
	invalid  []bool            // answers to the coming greetings
}

type user struct {
	id, name string
	roles    []string
}

type room struct {
	id, name, parent, recipient string
	kind                        int
	messages                    []*Message
	denied                      uint64 // rights that everybody lacks here
}

// Message is a message as its chat has it.
type Message struct {
	ID, Channel, Author, Text, ReplyTo, Nonce string
	Edits                                     int
	Files                                     []File
	Mentions                                  []string
	Reactions                                 map[string][]string // users by emoji
	Gone                                      bool
	Rows                                      []Row // of buttons
	Voice                                     bool  // it is played in the chat

	raw object // fields of Discord's beside or instead of these
}

// File is a file of a message.
type File struct {
	ID, Name, MIME, Alt, SHA256, URL string
	Title                            string // of a file whose name has other characters than Discord's names: the name without its extension
	Size                             int64

	Opus    bool    // it is Ogg Opus
	Seconds float64 // of a voice message
	Wave    []byte
}

// New starts Discord, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	s := &Server{
		Token: "MTAwMg.loop.back", BotID: "1002", AppID: "1003", Flags: FlagMembers | FlagContent, NonceFor: 5 * time.Minute, Heartbeat: 10 * time.Second,
		life: life, files: map[string][]byte{}, nonces: map[string]*Message{}, acted: map[string]*Acted{}, ids: 2000,
	}
	s.owner = s.AddUser("Owner")
	s.srv = httptest.NewServer(s.routes())
	t.Cleanup(func() {
		end()
		s.srv.CloseClientConnections()
		s.srv.Close()
		s.work.Wait()
	})
	return s
}

// URL is the address of the API, with its last slash.
func (s *Server) URL() string { return s.srv.URL + "/api/v10/" }

func (s *Server) newID() string {
	s.ids++
	return strconv.Itoa(s.ids)
}

func (s *Server) now() time.Time { return time.Now().Add(s.Ahead) }

// messageID is an id of now that no other message has.
func (s *Server) messageID() string {
	s.last = max(s.last+1, (s.now().UnixMilli()-1420070400000)<<22)
	return strconv.FormatInt(s.last, 10)
}

// AddUser adds a member of the server, and returns the id.
func (s *Server) AddUser(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &user{id: s.newID(), name: name}
	s.users = append(s.users, u)
	return u.id
}

// Owner is the server's owner.
func (s *Server) Owner() string { return s.owner }

// AddChannel adds a channel of the server, and returns its id.
func (s *Server) AddChannel(name string) string { return s.addRoom(room{name: name, kind: typeText}) }

// Deny takes rights from everybody in a channel.
func (s *Server) Deny(channel string, rights uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(channel).denied = rights
}

// AddDirect adds a direct message with a member, and returns its id.
func (s *Server) AddDirect(user string) string {
	return s.addRoom(room{recipient: user, kind: typeDirect})
}

// AddThread begins a thread in a channel, and returns its id.
func (s *Server) AddThread(channel, name string) string {
	return s.addRoom(room{name: name, parent: channel, kind: typeThread})
}

func (s *Server) addRoom(r room) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.id = s.newID()
	s.channels = append(s.channels, &r)
	if r.kind == typeThread {
		s.dispatch("THREAD_CREATE", r.object())
	} else if r.kind == typeText {
		s.dispatch("CHANNEL_CREATE", r.object())
	}
	return r.id
}

func (r *room) object() object {
	o := object{"id": r.id, "type": r.kind, "name": r.name, "parent_id": nil,
		"permission_overwrites": []object{{"id": GuildID, "type": 0, "allow": "0", "deny": strconv.FormatUint(r.denied, 10)}}}
	if r.kind != typeDirect {
		o["guild_id"] = GuildID
	}
	if r.parent != "" {
		o["parent_id"] = r.parent
	}
	return o
}

func (s *Server) room(id string) *room {
	i := slices.IndexFunc(s.channels, func(r *room) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	return s.channels[i]
}

// must is for channels that a test names: a wrong one is the test's mistake.
func (s *Server) must(id string) *room {
	r := s.room(id)
	if r == nil {
		panic("discordtest: no channel " + id)
	}
	return r
}

func (r *room) message(id string) *Message {
	i := slices.IndexFunc(r.messages, func(m *Message) bool { return m.ID == id && !m.Gone })
	if i < 0 {
		return nil
	}
	return r.messages[i]
}

func (s *Server) user(id string) object {
	name, bot := "longshore", id == s.BotID
	for _, u := range s.users {
		if u.id == id {
			name = u.name
		}
	}
	return object{"id": id, "username": strings.ToLower(name), "global_name": name, "discriminator": "0", "avatar": nil, "bot": bot}
}

// Messages are those of a channel and its threads, in order.
func (s *Server) Messages(channel string) (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.channels {
		if r.id == channel || r.parent == channel {
			for _, m := range r.messages {
				all = append(all, *m)
			}
		}
	}
	slices.SortFunc(all, func(a, b Message) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// FromBot are the bot's messages of a channel and its threads.
func (s *Server) FromBot(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.Author != s.BotID })
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
