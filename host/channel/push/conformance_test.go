package push_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

const (
	desk   = groups.JID("push:desk")
	office = groups.JID("push:office")
	nobody = groups.JID("push:nobody")
)

// world is a receiver and the channel that it belongs to.
type world struct {
	*pushtest.Receiver
	setup channel.Setup
	ch    channel.Channel
}

func newWorld(t testing.TB, change ...func(*push.Settings)) *world {
	t.Helper()
	secret := pushtest.Secret()
	w := &world{Receiver: pushtest.New(t, secret, string(desk), string(office))}
	set := push.Platform().Settings().(*push.Settings)
	set.URL, set.Secret, set.Listen, set.FilesFrom = w.URL, setting.NewSecret(secret), "127.0.0.1:0", []string{w.Origin}
	for _, c := range change {
		c(set)
	}
	chats := []channel.NamedChat{{JID: desk, Name: "Desk"}, {JID: office, Name: "Office"}}
	w.setup = channel.Setup{Name: "push", Chats: chats, Settings: set, Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Log: slog.New(slog.DiscardHandler)}
	return w.made(t)
}

// made makes the channel, again after a restart.
func (w *world) made(t testing.TB) *world {
	t.Helper()
	ch, err := push.Platform().New(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	w.ch = ch
	return w
}

// listens is where the channel takes replies.
func (w *world) listens(t testing.TB) string {
	t.Helper()
	_, detail := w.ch.(channel.Status).Connected()
	at, ok := strings.CutPrefix(detail, "takes replies at ")
	if !ok {
		t.Fatalf("the channel takes no replies: %s", detail)
	}
	return at
}

func TestConformance(t *testing.T) {
	var w *world
	post := func(t testing.TB, r pushtest.Reply) {
		t.Helper()
		if err := w.Post(t.Context(), w.listens(t), r); err != nil {
			t.Fatal(err)
		}
	}
	channeltest.Run(t, channeltest.Harness{
		Chat: desk, Other: office, Unknown: nobody,
		Leaks: []goleak.Option{goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1")},
		New: func(t testing.TB) channel.Channel {
			w = newWorld(t)
			return w.ch
		},
		Restart: func(t testing.TB) channel.Channel { return w.made(t).ch },
		Received: func(t testing.TB, chat groups.JID, n int) (all []channeltest.Seen) {
			for _, m := range w.Shown(t, string(chat), n) {
				all = append(all, seen(m))
			}
			return all
		},
		Say: func(t testing.TB, chat groups.JID, s channeltest.Said) {
			post(t, pushtest.Reply{Type: "message", Chat: string(chat), ID: pushtest.NewID(), From: s.From, Sender: "u-" + s.From, Text: s.Text, Files: w.keep(s.File)})
		},
		Share:  func(t testing.TB, chat groups.JID, s channeltest.Shared) { post(t, w.shared(chat, s)) },
		Lacks:  lacks(),
		Expire: func(testing.TB) { w.Forget() },
		Untouched: func(t testing.TB) {
			if files, err := os.ReadDir(w.setup.Dir); err != nil || len(files) > 0 {
				t.Errorf("New has made %v, %v", files, err)
			}
		},
		Stall: func(testing.TB) <-chan struct{} {
			reached := make(chan struct{})
			w.Next(pushtest.Fault{Stall: reached})
			return reached
		},
		Thread: func(testing.TB, groups.JID) string { return pushtest.NewID() }, // a thread is whatever a message names
		Mark: func(t testing.TB, chat groups.JID, id string, state channel.State) {
			post(t, pushtest.Reply{Type: string(state), Chat: string(chat), ID: id})
		},
	})
}

// keep keeps the file of a member.
func (w *world) keep(f *channeltest.SaidFile) []pushtest.ReplyFile {
	if f == nil {
		return nil
	}
	return []pushtest.ReplyFile{{URL: w.Keep(pushtest.NewID(), f.Data), Name: f.Name, MIME: f.MIME, Size: len(f.Data)}}
}

// shared is what a member of the receiver forwards or answers.
func (w *world) shared(chat groups.JID, s channeltest.Shared) pushtest.Reply {
	r := pushtest.Reply{
		Type: "message", Chat: string(chat), ID: pushtest.NewID(), From: s.From, Sender: "u-Ada", Text: s.Text, Files: w.keep(s.File),
		Forwarded: s.Author != "", Author: s.Author,
	}
	if s.Case == channeltest.Photo {
		r.Files[0].Name = ""
	}
	if q := s.Quote; q != nil {
		r.Forwarded, r.Author = false, ""
		r.Quote = &pushtest.Quote{ID: "m-0", From: q.From, Text: q.Text, Files: w.keep(q.File), Selected: s.Selected,
			Forwarded: s.Case == channeltest.ForwardQuoted, Elsewhere: s.Case == channeltest.QuoteElsewhere}
	}
	return r
}

// lacks is what a reply cannot say.
func lacks() map[channeltest.Case]string {
	all := map[channeltest.Case]string{
		channeltest.HiddenLink:    "a text is plain",
		channeltest.NamelessAdmin: "a reply has no role",
		channeltest.Robot:         "all that is posted is a member's, by the receiver's word",
		channeltest.Pin:           "a reply is a message",
		channeltest.Unknown:       "a reply with another key is refused",
	}
	for _, c := range []channeltest.Case{
		channeltest.Place, channeltest.Venue, channeltest.Contact, channeltest.Poll, channeltest.Sticker, channeltest.StickerName, channeltest.StickerPicture,
	} {
		all[c] = "a reply has a text and files"
	}
	return all
}

func seen(m pushtest.Message) channeltest.Seen {
	s := channeltest.Seen{ID: m.Given, Thread: m.Thread, Text: m.Text, ReplyTo: m.ReplyTo}
	for i, f := range m.Files {
		file := channeltest.SeenFile{Name: f.Name, MIME: f.MIME, Size: f.Size, SHA256: f.SHA256}
		if i == 0 {
			s.File = &file
		} else {
			s.More = append(s.More, file)
		}
	}
	return s
}
