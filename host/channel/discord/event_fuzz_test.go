package discord

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// FuzzEvent looks for a frame of the gateway that is taken, and brings the host more
// than an event may hold.
func FuzzEvent(f *testing.F) {
	for _, frame := range []string{
		`{"op":0,"s":1,"t":"MESSAGE_CREATE","d":{"id":"4194304","channel_id":"1","guild_id":"9","content":"<@2> \ud83d","author":{"id":"3","username":"\u202eada"},"mentions":[{"id":"2"}],"attachments":[{"id":"5","filename":"../a","size":-1,"url":"https://x"}]}}`,
		`{"op":0,"s":2,"t":"MESSAGE_CREATE","d":{"id":"9223372036854775807","channel_id":"4","author":{"id":"3"},"type":19,"referenced_message":{"id":"4194304","author":{"id":"2"},"attachments":[{"id":"6"}]}}}`,
		`{"op":0,"s":3,"t":"MESSAGE_UPDATE","d":{"id":"4194304","channel_id":"1","content":"b","edited_timestamp":"now","author":{"id":"3"}}}`,
		`{"op":0,"s":4,"t":"MESSAGE_DELETE","d":{"id":"4194304","channel_id":"1"}}`,
		`{"op":0,"s":5,"t":"MESSAGE_REACTION_ADD","d":{"user_id":"3","channel_id":"1","message_id":"4194304","emoji":{"id":"7","name":"a\u0000b"}}}`,
		`{"op":0,"s":6,"t":"GUILD_MEMBER_ADD","d":{"guild_id":"9","user":{"id":"3"},"nick":"Bo"}}`,
		`{"op":0,"s":7,"t":"GUILD_CREATE","d":{"id":"9","channels":[{"id":"1","type":0}],"threads":[{"id":"4","type":11,"parent_id":"1"}],"roles":[{"id":"9","permissions":"x"}]}}`,
		`{"op":0,"s":8,"t":"INTERACTION_CREATE","d":{"id":"4194304","application_id":"8","type":3,"token":"t","channel_id":"1","user":{"id":"3","username":"ada"},"data":{"custom_id":"longshore-` + strings.Repeat("a", 32) + `-1"},"message":{"id":"4194305"}}}`,
		`{"op":0,"s":9,"t":"INTERACTION_CREATE","d":{"id":"4194306","application_id":"8","type":2,"token":"t","guild_id":"9","channel_id":"4","member":{"user":{"id":"3"}},"data":{"name":"stop"}}}`,
		`{"op":0,"t":"MESSAGE_CREATE","d":[]}`, `{"op":0,"t":"MESSAGE_CREATE"}`, `[]`,
	} {
		f.Add([]byte(frame))
	}
	home := store.Home{}
	j, err := journal.Open(f.Context(), journal.Spec("discord", platformKey, f.TempDir(), home), journal.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = j.Close() })
	d, err := newOf(channel.Setup{Name: "discord", Settings: &Settings{}, Log: slog.New(slog.DiscardHandler), Chats: []channel.NamedChat{{JID: "dc:1"}}}, Net{API: "http://127.0.0.1:1/"})
	if err != nil {
		f.Fatal(err)
	}
	d.self.Store(&self{id: "2", app: "8"})
	d.world.addGuild(&guild{ID: "9", Channels: []room{{ID: "1"}}, Threads: []room{{ID: "4", Type: 11, Parent: "1"}}})
	g := &gateway{Discord: d, journal: j, session: "s"}
	var one sync.Mutex
	f.Fuzz(func(t *testing.T, data []byte) {
		one.Lock()
		defer one.Unlock()
		var fr frame
		if json.Unmarshal(data, &fr, lenient) != nil || fr.Op != opDispatch {
			return
		}
		d.learn(fr.Type, fr.Data)
		if err := g.keep(t.Context(), fr); err != nil && channel.ClassOf(err) != channel.Passing { // a question to a Discord that is not there
			t.Fatal(err)
		}
		for {
			m, err := j.Next(t.Context(), "dc:1")
			if err != nil {
				t.Fatal(err)
			}
			if m == nil {
				return
			}
			if err := d.give(t.Context(), checking{t, data}, *m); err != nil {
				t.Fatal(err)
			}
			if err := j.Done(t.Context(), m.Seq); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// checking is an Inbox that looks at what comes in.
type checking struct {
	t    *testing.T
	data []byte
}

func (c checking) Receive(_ context.Context, in channel.Inbound) error {
	if in.Chat != "dc:1" || !utf8.ValidString(in.Text) || len(in.Text) > maxIn+200*50 || len(in.Files) > maxInFiles || in.From != channel.CleanName(in.From) || in.Emoji != channel.CleanName(in.Emoji) {
		c.t.Errorf("%q was taken as %+v", c.data, in)
	}
	for _, id := range []string{in.Thread, in.Target, in.Sender, in.ID} {
		if media.Printable(id) != id || len(id) > 64 {
			c.t.Errorf("%q brings the id %q", c.data, id)
		}
	}
	if y := in.Time.UTC().Year(); y < 1970 || y > 9999 {
		c.t.Errorf("%q is of the year %d", c.data, y)
	}
	for _, a := range in.Files {
		if a.Name != media.SafeName(a.Name) || a.Size < 0 {
			c.t.Errorf("%q brings the file %+v", c.data, a)
		}
	}
	return nil
}

func (c checking) Report(context.Context, groups.JID, string, channel.State) {}
