package telegram_test

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

//go:embed testdata/cases.json
var testdata embed.FS

// tells gives the bot a message with these fields, which are JSON, of Ada in the desk's chat.
func (w *world) tells(fields string) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(fields), &m); err != nil {
		panic(fmt.Sprint(err, " in ", fields))
	}
	all := map[string]any{"message_id": 6, "date": 1, "chat": map[string]any{"id": deskID, "type": "supergroup"}, "from": ada}
	for name, v := range m {
		all[name] = v
	}
	doc, err := json.Marshal(map[string]any{"message": all})
	if err != nil {
		panic(err)
	}
	w.Dispatch(string(doc))
}

// TestWhatMembersSentCameInWithoutHalfOfIt has an example of each thing that was lost.
func TestWhatMembersSentCameInWithoutHalfOfIt(t *testing.T) {
	raw, err := testdata.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct{ In json.RawMessage }
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	place := channel.Location{Latitude: 53.5, Longitude: 9.9}
	pier := place
	pier.Name = "Pier 3 Quay 1"
	of := func(in channel.Inbound) channel.Inbound {
		in.Chat, in.From, in.Sender, in.ID = desk, "Ada", "77", "6"
		return in
	}
	image := media.Info{Name: "photo.jpg", Kind: media.Image, MIME: "image/jpeg", Size: 8}
	want := map[string]channel.Inbound{
		"reply-to-photo": of(channel.Inbound{Text: "@harbour_bot what is this?", Direct: true, Quote: &channel.Quote{ID: "4", From: "Bo", Sender: "78",
			Files: []channel.Attachment{{Info: image}}}}),
		"anonymous-admin": {Chat: desk, ID: "6", From: "Desk", Sender: "-1001", Role: channel.RoleAdmin, Text: "@harbour_bot report", Direct: true},
		"text-link":       of(channel.Inbound{Text: "😀 read this article (https://example.org/a?b=1)"}),
		"location":        of(channel.Inbound{Kind: channel.KindLocation, Text: place.String(), Location: &place}),
		"venue":           of(channel.Inbound{Kind: channel.KindLocation, Text: pier.String(), Location: &pier}),
		"contact":         of(channel.Inbound{Kind: channel.KindContact, Text: "Contact: Bo +49150000000"}),
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			w, in := newWorld(t), make(inbox, 2)
			w.runTo(t, in)
			w.KeepAs("P1", []byte("a photo."))
			w.tells(string(cases[name].In))
			w.tells(`{"message_id":7,"text":"end"}`)
			got := <-in
			if got.Text == "end" {
				t.Fatal("nothing came in")
			}
			if got.Quote != nil && len(got.Quote.Files) == 1 {
				if body := w.fetched(t, got.Quote.Files[0]); body != "a photo." {
					t.Errorf("the quoted photo is %q", body)
				}
				got.Quote.Files[0].Ref = ""
			}
			got.Time = want[name].Time
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// fetched is a file of the desk's chat.
func (w *world) fetched(t *testing.T, a channel.Attachment) string {
	t.Helper()
	r, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: desk, Ref: a.Ref})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// TestAQuotedFileThatCameInBeforeIsTheSameFile: the host fetched it once more, which counted
// against the member.
func TestAQuotedFileThatCameInBeforeIsTheSameFile(t *testing.T) {
	w, in := newWorld(t), make(inbox, 1)
	w.runTo(t, in)
	w.KeepAs("D1", []byte("a plan"))
	w.KeepAs("D2", []byte("another"))
	doc := `"document":{"file_id":"%s","file_unique_id":"%s","file_name":"plan.pdf"}`
	w.tells(`{"message_id":4,` + fmt.Sprintf(doc, "D1", "u1") + `}`)
	first := <-in
	for _, tt := range []struct {
		id, unique, body string
		same             bool
	}{{"D1", "u1", "a plan", true}, {"D2", "u2", "another", false}} { // it may have been replaced since
		w.tells(`{"message_id":` + strings.TrimPrefix(tt.unique, "u") + `5,"text":"this one","reply_to_message":{"message_id":4,"from":{"id":77,"first_name":"Ada"},` + fmt.Sprintf(doc, tt.id, tt.unique) + `}}`)
		q := (<-in).Quote
		if len(q.Files) != 1 || (q.Files[0].Ref == first.Files[0].Ref) != tt.same || w.fetched(t, q.Files[0]) != tt.body {
			t.Errorf("%s is quoted as %+v, and was %+v", tt.id, q.Files, first.Files)
		}
	}
}

// TestAnAnonymousAdminIsAnAdmin asks for the roles of those who act on behalf of a chat.
func TestAnAnonymousAdminIsAnAdmin(t *testing.T) {
	w := newWorld(t).run(t)
	for sender, want := range map[string]channel.Role{"-1001": channel.RoleAdmin, "-1009": channel.RoleUnknown, "77": channel.RoleMember} {
		if role, err := w.ch.(channel.Roles).RoleOf(t.Context(), desk, sender); err != nil || role != want {
			t.Errorf("%s is %q, want %q: %v", sender, role, want, err)
		}
	}
	if n := w.Calls("getChatMember"); n != 1 {
		t.Errorf("Telegram was asked %d times", n)
	}
}

// TestAnAnonymousAdminsVoteCounts: Telegram tells it as the group's.
func TestAnAnonymousAdminsVoteCounts(t *testing.T) {
	w, in := newWorld(t), make(inbox, 1)
	w.runTo(t, in)
	m := text("Lunch?")
	m.Poll = &channel.Poll{Choices: []string{"Pizza", "Soup"}}
	r, err := w.ch.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	w.Dispatch(`{"poll_answer":{"poll_id":"poll-` + r.ID + `","voter_chat":{"id":-1001,"title":"Desk","type":"supergroup"},"option_ids":[1]}}`)
	if got := <-in; got.Kind != channel.KindVote || got.Outside || got.From != "Desk" || !slices.Equal(got.Choices, []string{"Soup"}) {
		t.Errorf("came in %+v", got)
	}
}

// TestAMessageThatCannotBeReadIsTold: a field of another type than this version knows, or too
// many bytes, took the whole message with it.
func TestAMessageThatCannotBeReadIsTold(t *testing.T) {
	w, in := newWorld(t), make(inbox, 2)
	w.runTo(t, in)
	for i, fields := range []string{`"poll":{"question":["of","several","parts"]},"text":"hi"`, `"text":"` + strings.Repeat("long ", 60_000) + `"`} {
		w.tells(fmt.Sprintf(`{"message_id":%d,%s}`, 10+i, fields))
		w.tells(fmt.Sprintf(`{"message_id":%d,"text":"end"}`, 20+i))
		why := []string{"unreadable", "too_large"}[i]
		if m := <-in; m.Told != why || m.Text != channel.NotShown(strings.ReplaceAll(why, "_", " ")) || m.From != "Ada" {
			t.Errorf("%.40s came in as %.99s, %q", fields, m.Text, m.Told)
		}
		if m := <-in; m.Text != "end" {
			t.Errorf("then came in %.99s", m.Text)
		}
	}
}
