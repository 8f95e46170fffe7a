package slack

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/media"
)

// FuzzEvent looks for an envelope that is taken, and brings the host more than an
// event may hold.
func FuzzEvent(f *testing.F) {
	for _, event := range []string{
		`{"type":"message","channel":"C1A","user":"U1A","text":"<@U2B> &lt;b&gt; <https://x|y> <!here>","ts":"1.000001","thread_ts":"1.000000","files":[{"id":"F1","name":"../a","size":-1}]}`,
		`{"type":"message","subtype":"message_changed","channel":"C1A","message":{"user":"U1A","ts":"1.000001","text":"b"},"previous_message":{"text":"a"}}`,
		`{"type":"message","subtype":"message_deleted","channel":"C1A","deleted_ts":"1.000001"}`,
		`{"type":"reaction_added","user":"U1A","reaction":"+1::skin-tone-9","item":{"type":"message","channel":"C1A","ts":"1.000001"}}`,
		`{"type":"member_joined_channel","user":"U1A","channel":"C1A"}`, `{"type":"message","channel":{"id":"C1A"}}`, `{"type":"message","type":"message"}`, `[]`, `null`,
		`{"type":"message","channel":"C1A","user":"U1A","text":"\ud83d","ts":"9999999999.000001"}`,
		`{"type":"message","channel":"C1A","user":"U1A","ts":"1.000001","text":"a","attachments":[{"is_share":true,"author_id":"U2B","text":"b","files":[{"id":"F1","title":"a","name":"b.c"}],"message_blocks":[{"message":{"blocks":[]}}]},{"is_msg_unfurl":true,"ts":"1.000001","fields":[{"title":"a","value":"b"}]},{"fallback":"a"}]}`,
		`{"type":"message","channel":"C1A","user":"U1A","ts":"1.000001","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_list","indent":1e9,"style":"ordered","elements":[{"type":"date","timestamp":1e300},{"type":"user","user_id":"<U2B>"},{"type":"link","url":"a|b>"}]}]},{"type":"image","slack_file":{"id":"F1"}},{"type":"table","rows":[[{"type":"raw_number","value":1e300}]]}]}`,
		`{"type":"pin_added","user":"U1A","channel_id":"C1A","item":{"message":{"text":"a"}}}`, `{"type":"message","subtype":"huddle_thread","channel":"C1A","user":"USLACKBOT","room":{"created_by":"U1A"},"ts":"1.000001"}`,
	} {
		f.Add([]byte(`{"event_id":"Ev1","event":` + event + `}`))
	}
	f.Add([]byte(`{"command":"/longshore","channel_id":"C1A","user_id":"U1A","text":"stop","trigger_id":"1.2.3"}`))
	f.Add([]byte(`{"type":"block_actions","user":{"id":"U1A"},"container":{"type":"message","message_ts":"1.000001","channel_id":"C1A"},"actions":[{"type":"button","action_id":"` +
		bot.ButtonID(strings.Repeat("a", 32), 1) + `","action_ts":"2.000001"}]}`))
	s := offline(f, Net{API: "http://127.0.0.1:1/"}, &Settings{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var ev *decode.Event
		for _, kind := range []string{"events_api", decode.CommandEnvelope, "interactive"} {
			if ev == nil {
				ev, _ = decode.Envelope(kind, payload)
			}
		}
		if ev == nil {
			return
		}
		for _, files := range [][]decode.File{ev.Uploads, ev.Quoted} { // nobody is asked
			for i := range files {
				files[i].Name += "a"
			}
		}
		for _, name := range []string{ev.Sender, ev.Inviter, ev.AuthorID, "U2B"} { // nobody is asked
			s.people.Set(name, known{name: "Ada", until: time.Now().Add(time.Hour)})
		}
		in, err := s.inbound(t.Context(), ev, journal.Inbound{Seq: 1, ID: ev.ID, Received: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := groups.ParseJID(string(in.Chat)); err != nil || !s.Owns(in.Chat) || len(in.Files) > decode.MaxFiles || !utf8.ValidString(in.Text) {
			t.Errorf("%q was taken as %+v", payload, in)
		}
		if in.Kind.IsMessage() && in.Command == "" && in.Text == "" && len(in.Files) == 0 && in.Quote == nil {
			t.Errorf("%q brings nothing: %+v", payload, in)
		}
		if len(in.Text) > 100*len(payload) || in.Told != "" && !channel.ToldName(in.Told) || in.Author != channel.CleanName(in.Author) {
			t.Errorf("%q brings %d bytes of text, %q, %q", payload, len(in.Text), in.Told, in.Author)
		}
		if in.Quote != nil {
			in.Files = append(in.Files, in.Quote.Files...)
			in.Target = in.Quote.ID
		}
		for _, id := range []string{in.Thread, in.Target, in.Sender, in.ID} {
			if media.Printable(id) != id || len(id) > 64 {
				t.Errorf("%q brings the id %q", payload, id)
			}
		}
		if y := in.Time.UTC().Year(); y > 9999 {
			t.Errorf("%q is of the year %d, which no JSON has", payload, y)
		}
		if in.Emoji != channel.CleanName(in.Emoji) {
			t.Errorf("%q brings the reaction %q", payload, in.Emoji)
		}
		for _, a := range in.Files {
			if a.Name != media.SafeName(a.Name) || a.Size < 0 || strings.Count(a.Ref, " ") != 2 {
				t.Errorf("%q brings the file %+v", payload, a)
			}
		}
	})
}
