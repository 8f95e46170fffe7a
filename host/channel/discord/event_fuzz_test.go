package discord

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
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
		`{"op":0,"s":10,"t":"MESSAGE_CREATE","d":{"id":"4194307","channel_id":"1","guild_id":"9","content":"","author":{"id":"3","username":"ada"},"message_reference":{"type":1},"message_snapshots":[{"message":{"content":"<@3>","mentions":[{"id":"3","member":{"nick":"\u202e"}}],"attachments":[{"id":"6","filename":".a\u0000","title":"b/..","url":"/x","description":"d"}],"sticker_items":[{"id":"7","name":"\ud83d","format_type":4}],"embeds":[{"title":"t","url":"u","fields":[{"name":"n"}]}],"components":[{"components":[{"label":"l","url":"u","accessory":{"content":"c"}}],"items":[{"media":{"url":"m"}}]}]}}]}}`,
		`{"op":0,"s":11,"t":"MESSAGE_CREATE","d":{"id":"4194308","channel_id":"4","guild_id":"9","content":"x","author":{"id":"3"},"poll":{"question":{"text":"q"},"answers":[{"poll_media":{"text":"a","emoji":{"name":"b"}}}]},"hologram":{"a":1},"mention_roles":["9"]}}`,
		`{"op":0,"s":12,"t":"MESSAGE_CREATE","d":{"id":"4194309","channel_id":"1","guild_id":"9","type":46,"author":{"id":"3"},"embeds":[{"fields":[{"name":"poll_question_text","value":"q"}]}]}}`,
		`{"op":0,"s":13,"t":"MESSAGE_CREATE","d":{"id":"4194310","channel_id":"1","guild_id":"9","type":99,"author":{"id":"3"},"content":[1],"\u0000":1}}`,
		`{"op":0,"s":14,"t":"MESSAGE_DELETE_BULK","d":{"ids":["4194304","4194308"],"channel_id":"1"}}`,
		`{"op":0,"t":"MESSAGE_CREATE","d":[]}`, `{"op":0,"t":"MESSAGE_CREATE"}`, `[]`,
	} {
		f.Add([]byte(frame))
	}
	d, err := platform{account, Net{API: "http://127.0.0.1:1/"}}.newOf(channel.Setup{Name: "discord", Settings: &Settings{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fr frame
		if json.Unmarshal(data, &fr, lenient) != nil || fr.Op != opDispatch {
			return
		}
		d.learn(fr.Type, fr.Data)
		all, err := decode(fr.Type, fr.Data, &self{id: "2", app: "8", flags: flagContent})
		if err != nil {
			return
		}
		for _, ev := range all {
			if ev.Time.IsZero() { // as store does
				ev.Time = time.Unix(1, 0)
			}
			body, err := bot.Encode(ev.Inbound, ev.own)
			var kept channel.Inbound
			if err == nil {
				kept, err = bot.Decode(journal.Inbound{Chat: "dc:1", ID: ev.ID, Body: body}, &own{})
			}
			if err != nil || len(body) > 1<<20 {
				t.Fatalf("%q cannot be kept: %v", data, err)
			}
			check(t, data, kept)
		}
	})
}

// FuzzKept looks for a row of the journal that is read as something else than what is kept of it again.
func FuzzKept(f *testing.F) {
	files := []channel.Attachment{{Info: media.Info{Name: "b"}, Ref: "5"}}
	body, err := bot.Encode(channel.Inbound{Sender: "3", Text: "a", Files: files, Quote: &channel.Quote{ID: "4", Files: files}, Time: time.Unix(1, 0)}, own{Channel: "1", URLs: map[string]string{"5": "u"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte(`{"version":2,"Text":"a"}`))
	f.Add([]byte(`{"version":1,"own":{"channel":"1"},"hologram":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var of, still own
		ev, err := bot.Decode(journal.Inbound{Body: body}, &of)
		if err != nil {
			return
		}
		again, err := bot.Encode(unread(ev), of)
		if err != nil {
			t.Fatalf("%q cannot be kept again: %v", body, err)
		}
		was, err := bot.Decode(journal.Inbound{Body: again}, &still)
		if diff := cmp.Diff(ev, was) + cmp.Diff(of, still); diff != "" || err != nil {
			t.Errorf("%q was kept as %q: %v\n%s", body, again, err, diff)
		}
	})
}

// unread is an event without the name of its row in the Refs of its files.
func unread(in channel.Inbound) channel.Inbound {
	strip := func(all []channel.Attachment) []channel.Attachment {
		all = slices.Clone(all)
		for i := range all {
			all[i].Ref = strings.TrimSuffix(all[i].Ref, " 0 ")
		}
		return all
	}
	if in.Files = strip(in.Files); in.Quote != nil {
		q := *in.Quote
		q.Files = strip(q.Files)
		in.Quote = &q
	}
	return in
}

// check looks at what comes in.
func check(t *testing.T, data []byte, in channel.Inbound) {
	if !utf8.ValidString(in.Text) || len(in.Text) > maxIn || len(in.Files) > maxInFiles || in.From != channel.CleanName(in.From) || in.Emoji != channel.CleanName(in.Emoji) {
		t.Errorf("%q was taken as %+v", data, in)
	}
	if in.Kind.IsMessage() && in.Command == "" && in.Text == "" && len(in.Files) == 0 || in.Kind == channel.KindNote && in.Text == "" || in.Told != "" && !channel.ToldName(in.Told) {
		t.Errorf("%q shows nothing: %+v", data, in)
	}
	if q := in.Quote; q != nil {
		if !utf8.ValidString(q.Text) || len(q.Text) > maxIn+200*50 || len(q.Files) > maxInFiles || q.From != channel.CleanName(q.From) {
			t.Errorf("%q quotes %+v", data, q)
		}
		in.Files = append(in.Files, q.Files...)
	}
	for _, id := range []string{in.Thread, in.Target, in.Sender, in.ID} {
		if media.Printable(id) != id || len(id) > 64 {
			t.Errorf("%q brings the id %q", data, id)
		}
	}
	if y := in.Time.UTC().Year(); y < 1970 || y > 9999 {
		t.Errorf("%q is of the year %d", data, y)
	}
	for _, a := range in.Files {
		if a.Name != media.SafeName(a.Name) || a.Size < 0 {
			t.Errorf("%q brings the file %+v", data, a)
		}
	}
}
