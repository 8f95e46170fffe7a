package slack_test

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

// world is a workspace and the channel of an app in it.
type world struct {
	*slacktest.Server
	ada           string // a member
	desk, office  groups.JID
	private, inDM groups.JID
	setup         channel.Setup
	ch            channel.Channel
}

func jid(id string) groups.JID  { return groups.JID("slack:" + id) }
func id(chat groups.JID) string { return strings.TrimPrefix(string(chat), "slack:") }

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Server: slacktest.New(t)}
	w.ada = w.AddUser("Ada")
	w.desk, w.office = jid(w.AddChannel(slacktest.Public, "desk")), jid(w.AddChannel(slacktest.Public, "office"))
	w.private, w.inDM = jid(w.AddChannel(slacktest.Private, "private")), jid(w.AddChannel(slacktest.Direct, w.ada))
	set := slack.Platform(slack.Net{}).Settings().(*slack.Settings)
	set.BotToken, set.AppToken = setting.NewSecret(w.BotToken), setting.NewSecret(w.AppToken)
	set.Rate = groups.Rate{PerMinute: 60_000, Burst: 1000}
	w.setup = channel.Setup{Name: "slack", Settings: set, Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Log: slog.New(slog.DiscardHandler)}
	for _, chat := range []groups.JID{w.desk, w.office, w.private, w.inDM} {
		w.setup.Chats = append(w.setup.Chats, channel.NamedChat{JID: chat, Name: "Desk"})
	}
	return w.made(t)
}

// made makes the channel, again after a restart.
func (w *world) made(t testing.TB) *world {
	t.Helper()
	ch, err := w.platform().New(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	w.ch = ch
	slack.Hurry(ch, 10*time.Millisecond)
	return w
}

func (w *world) platform() channel.Platform { return slack.Platform(slack.Net{API: w.URL()}) }

func TestConformance(t *testing.T) {
	var w *world
	channeltest.Run(t, channeltest.Harness{
		Chat: "slack:C0LOOP00003", Other: "slack:C0LOOP00004", Unknown: "slack:C0NOBODY",
		Leaks: []goleak.Option{
			goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"),
			goleak.IgnoreAnyFunction("github.com/longshore-bridge/longshore/host/channel/slack/slacktest.(*Server).socket"),
		},
		New: func(t testing.TB) channel.Channel {
			w = newWorld(t)
			return w.ch
		},
		Restart:  func(t testing.TB) channel.Channel { return w.made(t).ch },
		Received: func(t testing.TB, chat groups.JID, n int) []channeltest.Seen { return w.seen(t, chat, n) },
		Now:      func(_ testing.TB, chat groups.JID, ts string) channeltest.Seen { return w.now(id(chat), ts) },
		Say: func(t testing.TB, chat groups.JID, s channeltest.Said) {
			if f := s.File; f != nil {
				w.Upload(id(chat), "", w.ada, escape(s.Text), f.Name, f.Data)
				return
			}
			w.Post(id(chat), w.ada, escape(s.Text))
		},
		Act:   func(t testing.TB, chat groups.JID, in channel.Inbound) { w.act(t, id(chat), in) },
		Acts:  []channel.Kind{channel.KindEdit, channel.KindDeletion, channel.KindReaction, channel.KindMembership},
		Share: func(t testing.TB, chat groups.JID, s channeltest.Shared) { w.share(t, chat, s) },
		Lacks: map[channeltest.Case]string{
			channeltest.QuotePart:      "a member answers in the thread below a whole message",
			channeltest.Place:          "no app of Slack's shows places",
			channeltest.Venue:          "no app of Slack's shows places",
			channeltest.Contact:        "no app of Slack's sends contacts",
			channeltest.Poll:           "polls are messages of other apps",
			channeltest.Sticker:        "its stickers are emoji",
			channeltest.StickerName:    "its stickers are emoji",
			channeltest.StickerPicture: "its stickers are emoji",
			channeltest.NamelessAdmin:  "nobody writes in a channel's own name",
		},
		Stranger: func(t testing.TB, chat groups.JID, ts, choice string) {
			w.WaitFor(t, id(chat), 1)
			eve, elsewhere := w.AddUser("Eve"), w.AddChannel(slacktest.Public, "elsewhere")
			for _, from := range []string{elsewhere, id(w.office), elsewhere} {
				if !w.PressFrom(from, id(chat), eve, ts, choice) {
					t.Errorf("there is no button %s", choice)
				}
			}
			w.Tell(elsewhere, map[string]any{
				"type": "reaction_added", "user": eve, "reaction": "+1", "event_ts": ts,
				"item": map[string]string{"type": "message", "channel": elsewhere, "ts": ts},
			})
		},
		Expire: func(testing.TB) { w.Always("download", slacktest.Fault{Status: 404}) },
		Untouched: func(t testing.TB) {
			if files, err := os.ReadDir(w.setup.Dir); err != nil || len(files) > 0 {
				t.Errorf("New has made %v, %v", files, err)
			}
		},
		Stall: func(t testing.TB) <-chan struct{} {
			reached, until := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(until) })
			w.Next("chat.postMessage", slacktest.Fault{Before: func() {
				close(reached)
				<-until
			}, Status: 503})
			return reached
		},
		Thread: func(_ testing.TB, chat groups.JID) string { return w.Post(id(chat), w.ada, "a question") },
		Refuse: func(_ testing.TB, form channel.Form, _ channel.Message) bool {
			method, refuses := map[channel.Form]string{"": "files.completeUploadExternal", channel.FormReply: "conversations.replies", channel.FormThread: "chat.postMessage"}[form]
			switch {
			case form == "":
				w.Next(method, slacktest.Fault{Error: "file_type_not_allowed"})
			case refuses:
				w.Next(method, slacktest.Fault{Error: "thread_not_found"})
			}
			return refuses
		},
	})
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace

// act does what a member does to messages.
func (w *world) act(t testing.TB, channelID string, in channel.Inbound) {
	t.Helper()
	switch {
	case in.Kind == channel.KindEdit:
		w.Edit(channelID, in.Target, in.Text)
	case in.Kind == channel.KindDeletion:
		w.Delete(channelID, in.Target)
	case in.Kind == channel.KindReaction: // to a message that may be deleted by now
		kind := "reaction_added"
		if in.Emoji == "" {
			kind = "reaction_removed"
		}
		w.Tell(channelID, map[string]any{
			"type": kind, "user": w.ada, "reaction": "+1::skin-tone-4", "event_ts": in.Target,
			"item": map[string]string{"type": "message", "channel": channelID, "ts": in.Target},
		})
	case len(in.Joined) > 0:
		w.Join(channelID, w.AddUser("Bo"))
	default:
		w.Leave(channelID, w.ada)
	}
}

// now is how members see a message.
func (w *world) now(channelID, ts string) channeltest.Seen {
	s := channeltest.Seen{ID: ts, Gone: true}
	for _, m := range w.Messages(channelID) {
		if m.TS != ts {
			continue
		}
		s.Text, s.Gone = m.Text, m.Tombstone
		if m.Edited {
			s.Edits = 1
		}
		for name := range m.Reactions {
			s.Reaction += map[string]string{"eyes": "👀", "+1": "👍"}[name]
		}
	}
	return s
}

// seen are the messages of the bot as members see them. The parent of a thread is
// what an answer below it points at, if the answer says so itself.
func (w *world) seen(t testing.TB, chat groups.JID, n int) (all []channeltest.Seen) {
	t.Helper()
	for _, m := range w.WaitFor(t, id(chat), n) {
		s := channeltest.Seen{ID: m.TS, Thread: m.Thread, Text: m.Text}
		if s.Thread == s.ID {
			s.Thread = "" // it has answers
		}
		if m.Metadata != nil && m.Metadata.EventPayload["reply_to"] != nil {
			s.ReplyTo, s.Thread = m.Thread, ""
		}
		for _, f := range m.Files {
			s.More = append(s.More, channeltest.SeenFile{Name: f.Name, MIME: media.MIMEByName(f.Name), Size: f.Size, SHA256: f.SHA256})
		}
		if len(s.More) > 0 {
			s.File, s.More = &s.More[0], slices.Clone(s.More[1:])
		}
		if len(s.More) == 0 {
			s.More = nil
		}
		all = append(all, s)
	}
	return all
}
