package whatsapp_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/media"
)

// heard is what a case demands of what came in.
type heard struct {
	Kind     channel.Kind
	Text     string
	File     media.Kind
	Location *channel.Location
}

// cases are the messages of each line of testdata/cases.txt, by its first word.
func cases(w *world) map[string]func() []*waE2E.Message {
	w.t.Helper()
	one := func(m *waE2E.Message) func() []*waE2E.Message {
		return func() []*waE2E.Message { return []*waE2E.Message{m} }
	}
	return map[string]func() []*waE2E.Message{
		"PtvMessage{VideoMessage": func() []*waE2E.Message {
			m, err := w.anna.Upload(soon(w.t), whatsapptest.File{Kind: "ptv", MIME: "video/mp4", Body: bytes.NewReader(noise(1000))})
			if err != nil {
				w.t.Fatal(err)
			}
			return []*waE2E.Message{m}
		},
		"LiveLocationMessage{53.5,": one(&waE2E.Message{LiveLocationMessage: &waE2E.LiveLocationMessage{
			DegreesLatitude: proto.Float64(53.5), DegreesLongitude: proto.Float64(9.9), Caption: proto.String("on my way"),
		}}),
		`PollCreationMessageV3{"When?",`: one(&waE2E.Message{PollCreationMessageV3: memberPoll("When?", "Mon", "Tue")}),
		`EventMessage{"Meeting",`: one(&waE2E.Message{EventMessage: &waE2E.EventMessage{
			Name: proto.String("Meeting"), Description: proto.String("at the pier"), StartTime: proto.Int64(1796115600),
		}}),
		"ButtonsResponse/ListResponse/TemplateButtonReply/InteractiveResponse": func() []*waE2E.Message {
			return []*waE2E.Message{
				{ButtonsResponseMessage: &waE2E.ButtonsResponseMessage{
					SelectedButtonID: proto.String("1"), Response: &waE2E.ButtonsResponseMessage_SelectedDisplayText{SelectedDisplayText: "Pier 3"},
				}},
				{ListResponseMessage: &waE2E.ListResponseMessage{Title: proto.String("Pier 3"), SingleSelectReply: &waE2E.ListResponseMessage_SingleSelectReply{SelectedRowID: proto.String("1")}}},
				{TemplateButtonReplyMessage: &waE2E.TemplateButtonReplyMessage{SelectedID: proto.String("1"), SelectedDisplayText: proto.String("Pier 3")}},
				{InteractiveResponseMessage: &waE2E.InteractiveResponseMessage{Body: &waE2E.InteractiveResponseMessage_Body{Text: proto.String("Pier 3")}}},
			}
		},
	}
}

func memberPoll(question string, choices ...string) *waE2E.PollCreationMessage {
	p := &waE2E.PollCreationMessage{Name: &question, SelectableOptionsCount: proto.Uint32(1)}
	for _, c := range choices {
		p.Options = append(p.Options, &waE2E.PollCreationMessage_Option{OptionName: &c})
	}
	return p
}

// All of these came in as nothing.
func TestWhatMembersSendBesideTextsComesIn(t *testing.T) {
	w := newWorld(t).run()
	lines, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	made := cases(w)
	var got []heard
	for line := range strings.Lines(string(lines)) {
		name, _, _ := strings.Cut(line, " ")
		messages, ok := made[name]
		if !ok {
			t.Fatalf("no test for %q", line)
		}
		for _, m := range messages() {
			w.says(family, m)
			w.says(family, plain("that was it"))
			in := w.received(2*len(got) + 1)[2*len(got)]
			h := heard{Kind: in.Kind, Text: in.Text, Location: in.Location}
			if len(in.Files) > 0 {
				h.File = in.Files[0].Kind
			}
			got = append(got, h)
		}
	}
	chosen := heard{Text: "Pier 3"}
	want := []heard{
		{File: media.Video},
		{Kind: channel.KindLocation, Text: "Location: 53.500000, 9.900000 (live)\non my way", Location: &channel.Location{Latitude: 53.5, Longitude: 9.9, Name: "(live)"}},
		{Kind: channel.KindPoll, Text: "Poll: When?\n- Mon\n- Tue"},
		{Kind: channel.KindNote, Text: "made an event: Meeting\nbegins: 2026-12-01T09:00:00Z\nat the pier"},
		chosen, chosen, chosen, chosen,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
