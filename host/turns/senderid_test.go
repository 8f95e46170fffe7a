package turns_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

var senderIDs = regexp.MustCompile(`(sender|from)_id="([^"]*)"`)

func TestTwoOfOneNameAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ann, other = "4915550000001@s.whatsapp.net", "4915550000002@s.whatsapp.net"
		w := newWorld(t, nil, group("family"), group("work"))
		receive := func(w *world, folder, id, sender string, quote *channel.Quote, direct bool) {
			check(t, w.m.Receive(t.Context(), folder, channel.Inbound{
				ID: id, Chat: groups.JID("web:" + folder), From: "Ann", Sender: sender, Text: "hello", Quote: quote, Direct: direct,
			}))
		}
		receive(w, "family", "1", ann, nil, false)
		receive(w, "family", "2", other, &channel.Quote{ID: "1", From: "Ann", Sender: ann}, false)
		receive(w, "family", "3", "", nil, false)
		w = w.restart() // the ids outlive the host
		receive(w, "family", "4", ann, nil, true)
		receive(w, "work", "5", ann, nil, true)
		w.run()
		prompts := map[string]string{}
		for range 2 {
			a := w.runtime.next()
			prompts[a.spec.Group.Folder] = a.input.Prompt
		}
		var ids []string
		for _, m := range senderIDs.FindAllStringSubmatch(prompts["family"], -1) {
			ids = append(ids, m[2])
		}
		if len(ids) != 4 || ids[0] == ids[1] || ids[0] != ids[2] || ids[0] != ids[3] || len(ids[0]) != 8 {
			t.Errorf("the ids are %q, want Ann's, the other's, Ann's in the quote, none, and Ann's again\n%s", ids, prompts["family"])
		}
		if m := senderIDs.FindStringSubmatch(prompts["work"]); m == nil || len(ids) > 0 && m[2] == ids[0] {
			t.Errorf("another group's assistant knows Ann by the same id: %q", m)
		}
		for folder, prompt := range prompts {
			if strings.Contains(prompt, "49155500") {
				t.Errorf("%s: a number is in the prompt:\n%s", folder, prompt)
			}
		}
		statetest.SQLiteOnly(t, "it reads the database file")
		for _, name := range []string{"longshore.db", "longshore.db-wal"} {
			if data, err := os.ReadFile(filepath.Join(w.state, name)); err != nil || strings.Contains(string(data), "49155500") {
				t.Errorf("%s holds a number, or %v", name, err)
			}
		}
	})
}
