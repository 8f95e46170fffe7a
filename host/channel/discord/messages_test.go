package discord_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
)

// document is a message of Discord's, and what has to come of it.
type document struct {
	In   json.RawMessage
	Want *shown // nil: nothing comes in

	Stranger bool // In says who wrote it
}

// shown is what a message says.
type shown struct {
	Kind       channel.Kind
	Text, Told string
	From       string // of a quote
	Forwarded  bool
	Files      []string
	Quote      *shown
}

func documents(t testing.TB) (all map[string]document) {
	t.Helper()
	data, err := os.ReadFile("testdata/messages.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("%d documents, %v", len(all), err)
	}
	return all
}

func names(files []channel.Attachment) (all []string) {
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}

func shows(in channel.Inbound) shown {
	s := shown{Kind: in.Kind, Text: in.Text, Told: in.Told, Forwarded: in.Forwarded, Files: names(in.Files)}
	if q := in.Quote; q != nil {
		s.Quote = &shown{Text: q.Text, From: q.From, Forwarded: q.Forwarded, Files: names(q.Files)}
	}
	return s
}

// Forwarded messages, stickers, polls and others came in empty, or not at all.
func TestWhatMembersSendComesIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	n := 0
	for name, d := range documents(t) {
		user := w.ada
		if d.Stranger {
			user = ""
		}
		w.Document(id(w.desk), user, string(d.In))
		w.Post(id(w.desk), w.ada, "after "+name, discordtest.Says{})
		n++
		if d.Want != nil {
			n++
		}
		got := in.Wait(t, n)
		if len(got) != n || got[n-1].Text != "after "+name {
			t.Fatalf("after %s came in %+v", name, got[len(got)-1])
		}
		if d.Want == nil {
			continue
		}
		m := got[n-2]
		if diff := cmp.Diff(*d.Want, shows(m), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if m.Sender != w.ada || m.From != "Ada" || m.Role != channel.RoleMember || m.ID == "" || m.Time.IsZero() {
			t.Errorf("%s came in as %+v", name, m)
		}
	}
}
