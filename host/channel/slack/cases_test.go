package slack

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/setting"
)

// wanted is what has to come of a case; a field that is missing stays empty.
type wanted struct {
	Ignored                                bool
	Kind, Text, Thread, From, Author, Told string
	Forwarded, Direct                      bool
	Files                                  []string
	Quote                                  *wantedQuote
}

type wantedQuote struct {
	ID, From, Text string
	Elsewhere      bool
	Files          []string
}

// Slack's own documents come in as they should. Words and whole messages were lost that
// stand in blocks or attachments.
func TestWhatSlackSendsComesInAsItShould(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct {
		In   map[string]any
		Want wanted
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if tt.Want.From == "" && !tt.Want.Ignored {
				tt.Want.From = "Ada"
			}
			if diff := cmp.Diff(tt.Want, comes(t, document(tt.In))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// offline is a channel that has nobody to ask but for files.
func offline(t testing.TB, net Net, set *Settings) *Slack {
	s, err := newOf(channel.Setup{Name: "slack", Settings: set, Log: slog.New(slog.DiscardHandler), Chats: []channel.NamedChat{{JID: decode.ChatOf(desk), Name: "Desk"}}}, net)
	if err != nil {
		t.Fatal(err)
	}
	s.self.Store(&self{UserID: "U0ME"})
	for id, name := range map[string]string{ada: "Ada", "U0BO": "Bo", "U0ME": "longshore", "UREVOKEDU": "UREVOKEDU", decode.Slackbot: "Slackbot"} {
		s.people.Set(id, known{name: name, until: time.Now().Add(time.Hour)})
	}
	return s
}

// comes is what comes in of an event.
func comes(t *testing.T, event []byte) (got wanted) {
	t.Helper()
	ev, err := decode.Read(event)
	if err != nil {
		t.Fatal(err)
	}
	s := offline(t, Net{API: "http://127.0.0.1:1/"}, &Settings{})
	if ev == nil || ev.ByBot(s.self.Load().UserID) {
		return wanted{Ignored: true}
	}
	for _, f := range ev.Uploads {
		if f.Name == "" && f.Refused() == nil && f.Access != "" {
			s = connected(t)
		}
	}
	in, err := s.inbound(t.Context(), ev, journal.Inbound{Seq: 1, ID: ev.TS, Received: ev.Time})
	if err != nil {
		t.Fatal(err)
	}
	got = wanted{Kind: string(in.Kind), Text: in.Text, Thread: in.Thread, From: in.From, Author: in.Author, Told: in.Told, Forwarded: in.Forwarded, Direct: in.Direct, Files: names(in.Files)}
	if q := in.Quote; q != nil {
		if !q.Unverified || q.Sender != "" {
			t.Errorf("the quote is %+v", q)
		}
		got.Quote = &wantedQuote{ID: q.ID, From: q.From, Text: q.Text, Elsewhere: q.Elsewhere, Files: names(q.Files)}
	}
	return got
}

func names(files []channel.Attachment) (all []string) {
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}

// connected is a channel with a workspace that has one file, F0LOOP00003.
func connected(t *testing.T) *Slack {
	w := slacktest.New(t)
	w.AddFile(w.AddUser("Cy"), "Plan.dwg", []byte("a plan"))
	s := offline(t, Net{API: w.URL()}, &Settings{BotToken: setting.NewSecret(w.BotToken)})
	t.Cleanup(s.Close)
	return s
}
