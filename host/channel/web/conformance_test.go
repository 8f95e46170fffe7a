package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

// members use the HTTP API, as a script or the page does. What they see while
// the channel is not running is what its next run shows.
type members struct {
	opts setup
	web  *web.Web
}

func TestConformance(t *testing.T) {
	m, all := &members{}, options(t.TempDir()).opens(t) // one state, in which each story has a channel of its own
	stories := 0
	channeltest.Run(t, channeltest.Harness{
		Chat: "web:family", Other: "web:work", Unknown: "web:nobody",
		Leaks: []goleak.Option{goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn.(*PgConn).asyncClose.func1")}, // ends a statement whose caller is gone
		New: func(t testing.TB) channel.Channel {
			stories++
			m.opts = all
			m.opts.Name = fmt.Sprintf("web%d", stories)
			return m.open(t)
		},
		Restart:  func(t testing.TB) channel.Channel { return m.open(t) },
		Received: m.received,
		Now:      m.now,
		Say:      m.say,
		Share:    m.share,
		Lacks:    lacks(),
		Mark:     m.mark,
		Stranger: m.stranger,
		Expire: func(t testing.TB) { // by hand, or by the channel's own sweep
			alter(t, m.opts.Dir, `DELETE FROM bytes`)
			for _, name := range stored(t, m.opts.Dir) {
				if err := os.Remove(filepath.Join(m.opts.Dir, "blobs", name)); err != nil {
					t.Fatal(err)
				}
			}
		},
		Untouched: func(t testing.TB) {
			if url := m.web.URL(); url != "" {
				t.Errorf("it listens on %s", url)
			}
		},
	})
}

func (m *members) open(t testing.TB) channel.Channel {
	t.Helper()
	w, err := web.New(m.opts.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	m.web = w
	return w
}

// ask leaves no connection behind, since the suite counts goroutines.
func (m *members) ask(t testing.TB, method, path, kind string, body io.Reader) []byte {
	t.Helper()
	req, err := http.NewRequest(method, strings.TrimSuffix(m.web.URL(), "/")+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, b, err)
	}
	return b
}

func api(chat groups.JID, call string) string {
	return "/api/chats/" + strings.TrimPrefix(string(chat), history.Scheme) + "/" + call
}

func (m *members) received(t testing.TB, chat groups.JID, n int) []channeltest.Seen {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		var page struct{ Messages []history.Message }
		if err := json.Unmarshal(m.ask(t, "GET", api(chat, "messages?limit=200"), "", nil), &page); err != nil {
			t.Fatal(err)
		}
		var seen []channeltest.Seen
		for _, msg := range page.Messages {
			if !msg.Assistant {
				continue
			}
			s := channeltest.Seen{ID: msg.ID, Text: msg.Text, ReplyTo: msg.ReplyTo}
			if f := msg.File; f != nil {
				b := m.ask(t, "GET", f.URL, "", nil)
				sum := sha256.Sum256(b)
				s.File = &channeltest.SeenFile{Name: f.Name, MIME: f.MIME, Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:])}
			}
			seen = append(seen, s)
		}
		if len(seen) >= n {
			return seen
		}
		if time.Now().After(end) {
			t.Fatalf("the members see %d messages, want %d", len(seen), n)
		}
	}
}

func (m *members) now(t testing.TB, chat groups.JID, id string) channeltest.Seen {
	t.Helper()
	var page struct{ Messages []history.Message }
	if err := json.Unmarshal(m.ask(t, "GET", api(chat, "messages?limit=200"), "", nil), &page); err != nil {
		t.Fatal(err)
	}
	s := channeltest.Seen{ID: id, Gone: true}
	for _, msg := range page.Messages {
		if msg.ID != id {
			continue
		}
		s.Text, s.Gone = msg.Text, msg.Removed
		if msg.Edited {
			s.Edits = 1
		}
		for _, r := range msg.Reactions {
			s.Reaction += r.Emoji
		}
	}
	return s
}

func (m *members) say(t testing.TB, chat groups.JID, s channeltest.Said) {
	t.Helper()
	if s.File != nil {
		body, kind := form(t, map[string]string{"text": s.Text, "from": s.From}, attachment{s.File.Name, s.File.Data})
		m.ask(t, "POST", api(chat, "messages"), kind, body)
		return
	}
	b, err := json.Marshal(map[string]string{"text": s.Text, "from": s.From})
	if err != nil {
		t.Fatal(err)
	}
	m.ask(t, "POST", api(chat, "messages"), "application/json", bytes.NewReader(b))
}

// lacks is what the page does not have.
func lacks() map[channeltest.Case]string {
	all := map[channeltest.Case]string{
		channeltest.QuotePart:      "a message is answered as a whole",
		channeltest.QuoteElsewhere: "a chat shows and answers its own messages alone",
		channeltest.HiddenLink:     "members see what they write, addresses too",
		channeltest.Poll:           "only the assistant asks",
		channeltest.Pin:            "nothing is pinned",
		channeltest.NamelessAdmin:  "it has no roles",
		channeltest.Renamed:        "it knows no accounts, so that nobody vouches for a sender",
		channeltest.Robot:          "whoever can open it is a member",
		channeltest.Unknown:        "it has texts and files alone",
	}
	for _, c := range []channeltest.Case{channeltest.Place, channeltest.Venue, channeltest.Contact, channeltest.Sticker, channeltest.StickerName, channeltest.StickerPicture} {
		all[c] = "it has texts and files alone"
	}
	return all
}

// share forwards and answers.
func (m *members) share(t testing.TB, chat groups.JID, s channeltest.Shared) {
	t.Helper()
	if q := s.Quote; q != nil {
		answered := m.post(t, chat, map[string]string{"text": q.Text, "from": q.From, "forwarded": s.Author}, q.File)
		m.post(t, chat, map[string]string{"text": s.Text, "from": s.From, "replyTo": answered}, s.File)
		return
	}
	m.post(t, chat, map[string]string{"text": s.Text, "from": s.From, "forwarded": s.Author}, s.File)
}

// post posts a form, as the page does, and returns the id of the message.
func (m *members) post(t testing.TB, chat groups.JID, fields map[string]string, f *channeltest.SaidFile) string {
	t.Helper()
	var files []attachment
	if f != nil {
		files = append(files, attachment{f.Name, f.Data})
	}
	body, kind := form(t, fields, files...)
	var posted struct{ Messages []history.Message }
	if err := json.Unmarshal(m.ask(t, "POST", api(chat, "messages"), kind, body), &posted); err != nil || len(posted.Messages) == 0 {
		t.Fatal(err)
	}
	return posted.Messages[0].ID
}

// stranger is the page of another chat, and another site.
func (m *members) stranger(t testing.TB, chat groups.JID, id, choice string) {
	t.Helper()
	for _, act := range []map[string]any{{"kind": "vote", "choices": []string{choice}}, {"kind": "reaction", "emoji": "👍"}} {
		act["target"], act["secret"], act["from"] = id, bob, "Eve"
		b, err := json.Marshal(act)
		if err != nil {
			t.Fatal(err)
		}
		for origin, to := range map[string]groups.JID{"": "web:work", "https://evil.example": chat} {
			req, err := http.NewRequest("POST", strings.TrimSuffix(m.web.URL(), "/")+api(to, "acts"), bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			if origin != "" {
				req.Header.Set("Origin", origin)
			}
			req.Close = true
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode/100 == 2 {
				t.Errorf("%s from %q to %s is taken", b, origin, to)
			}
		}
	}
}

func (m *members) mark(t testing.TB, chat groups.JID, id string, state channel.State) {
	t.Helper()
	if state == channel.StateDelivered {
		m.ask(t, "GET", api(chat, "messages"), "", nil)
		return
	}
	m.ask(t, "POST", api(chat, "seen"), "application/json", strings.NewReader(`{"ids":["`+id+`"]}`))
}
