package discord_test

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
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

// world is Discord and the channel of a bot in it.
type world struct {
	*discordtest.Server
	ada                  string // a member
	desk, office, direct groups.JID
	setup                channel.Setup
	ch                   channel.Channel
}

func jid(id string) groups.JID  { return groups.JID("dc:" + id) }
func id(chat groups.JID) string { return strings.TrimPrefix(string(chat), "dc:") }

func newWorld(t testing.TB, change ...func(*discord.Settings)) *world {
	t.Helper()
	w := &world{Server: discordtest.New(t)}
	w.ada = w.AddUser("Ada")
	w.desk, w.direct = jid(w.AddChannel("desk")), jid(w.AddDirect(w.ada))
	w.office = jid(w.AddDirect(w.AddUser("Grace"))) // another place than the server
	set := discord.Platform(discord.Net{}).Settings().(*discord.Settings)
	set.BotToken, set.Rate = setting.NewSecret(w.Token), groups.Rate{PerMinute: 60_000, Burst: 1000}
	for _, c := range change {
		c(set)
	}
	w.setup = channel.Setup{Name: "discord", Settings: set, Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Log: slog.New(slog.DiscardHandler)}
	for _, chat := range []groups.JID{w.desk, w.office, w.direct} {
		w.setup.Chats = append(w.setup.Chats, channel.NamedChat{JID: chat, Name: "Desk"})
	}
	return w.made(t)
}

// made makes the channel, again after a restart.
func (w *world) made(t testing.TB) *world {
	t.Helper()
	ch, err := discord.Platform(discord.Net{API: w.URL()}).New(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	w.ch = ch
	discord.Hurry(ch, 10*time.Millisecond)
	return w
}

func TestConformance(t *testing.T) {
	var w *world
	channeltest.Run(t, channeltest.Harness{
		Chat: "dc:2003", Other: "dc:2006", Unknown: "dc:999",
		Leaks: []goleak.Option{
			goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"),
			goleak.IgnoreAnyFunction("github.com/longshore-bridge/longshore/host/channel/discord/discordtest.(*Server).socket"),
		},
		New: func(t testing.TB) channel.Channel {
			w = newWorld(t)
			return w.ch
		},
		Restart:  func(t testing.TB) channel.Channel { return w.made(t).ch },
		Received: func(t testing.TB, chat groups.JID, n int) []channeltest.Seen { return w.seen(t, chat, n) },
		Now:      func(_ testing.TB, chat groups.JID, m string) channeltest.Seen { return w.now(id(chat), m) },
		Say: func(_ testing.TB, chat groups.JID, s channeltest.Said) {
			says := discordtest.Says{}
			if f := s.File; f != nil {
				says.Name, says.MIME, says.Data = f.Name, f.MIME, f.Data
			}
			w.Post(id(chat), w.ada, s.Text, says)
		},
		Act:   func(_ testing.TB, chat groups.JID, in channel.Inbound) { w.act(id(chat), in) },
		Acts:  []channel.Kind{channel.KindEdit, channel.KindDeletion, channel.KindReaction, channel.KindMembership},
		Share: func(t testing.TB, chat groups.JID, s channeltest.Shared) { w.share(t, chat, s) },
		Lacks: lacks(),
		Stranger: func(t testing.TB, chat groups.JID, m, choice string) {
			eve, elsewhere := w.AddUser("Eve"), w.AddChannel("elsewhere")
			for _, from := range []string{elsewhere, id(w.office), elsewhere} {
				if w.PressFrom(from, id(chat), eve, m, choice) == nil {
					t.Errorf("there is no button %s", choice)
				}
			}
			w.React(elsewhere, m, eve, "👍", true)
		},
		Expire: func(testing.TB) { w.Always("download", discordtest.Fault{Status: 404}) },
		Untouched: func(t testing.TB) {
			if files, err := os.ReadDir(w.setup.Dir); err != nil || len(files) > 0 {
				t.Errorf("New has made %v, %v", files, err)
			}
		},
		Stall: func(t testing.TB) <-chan struct{} {
			reached, until := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(until) })
			w.Next("create", discordtest.Fault{Before: func() {
				close(reached)
				<-until
			}, Status: 503})
			return reached
		},
		Thread: func(_ testing.TB, chat groups.JID) string { return w.AddThread(id(chat), "a question") },
		Refuse: func(_ testing.TB, form channel.Form, m channel.Message) bool {
			fault, refuses := map[channel.Form]discordtest.Fault{
				"":                 {Status: 400, Code: 20009}, // explicit content
				channel.FormKind:   {Status: 403, Code: 50173},
				channel.FormReply:  {Status: 400, Code: 50035, Errors: unknownReference},
				channel.FormThread: {Status: 400, Code: 50083},
			}[form]
			if refuses = refuses && (form != channel.FormKind || m.Files[0].Kind == media.Voice); refuses {
				w.Next("create", fault)
			}
			return refuses
		},
	})
}

// unknownReference is what Discord says of an answer to a message that is gone.
var unknownReference = map[string]any{"message_reference": map[string]any{"_errors": []any{map[string]any{"code": "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "message": "Unknown message"}}}}

// act does what a member does to messages.
func (w *world) act(channelID string, in channel.Inbound) {
	switch {
	case in.Kind == channel.KindEdit:
		w.Edit(channelID, in.Target, in.Text)
	case in.Kind == channel.KindDeletion:
		w.Delete(channelID, in.Target)
	case in.Kind == channel.KindReaction: // to a message that may be deleted by now
		w.React(channelID, in.Target, w.ada, "👍🏽", in.Emoji != "")
	case len(in.Joined) > 0:
		w.Join(w.AddUser("Bo"))
	default:
		w.Leave(w.ada)
	}
}

// now is how members see a message.
func (w *world) now(channelID, m string) channeltest.Seen {
	s := channeltest.Seen{ID: m, Gone: true}
	for _, one := range w.Messages(channelID) {
		if one.ID != m || one.Gone {
			continue
		}
		s = channeltest.Seen{ID: m, Text: one.Text, Edits: one.Edits}
		for emoji, users := range one.Reactions {
			if slices.Contains(users, w.BotID) {
				s.Reaction += emoji
			}
		}
	}
	return s
}

// seen are the messages of the bot as members see them.
func (w *world) seen(t testing.TB, chat groups.JID, n int) (all []channeltest.Seen) {
	t.Helper()
	w.Wait(t, "messages", func() bool { return len(w.FromBot(id(chat))) >= n })
	for _, m := range w.FromBot(id(chat)) {
		s := channeltest.Seen{ID: m.ID, Text: m.Text, ReplyTo: m.ReplyTo}
		if m.Channel != id(chat) {
			s.Thread = m.Channel
		}
		for i, f := range m.Files {
			file := channeltest.SeenFile{Name: f.Name, MIME: f.MIME, Size: f.Size, SHA256: f.SHA256}
			if i == 0 {
				s.File = &file
			} else {
				s.More = append(s.More, file)
			}
		}
		all = append(all, s)
	}
	return all
}
