package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// A message of a member that was alone larger than an answer ended the host: the list was
// empty, and its first message was asked for an id.
func TestNoMessageIsTooLargeForTheListOrEndsTheHost(t *testing.T) {
	for name, m := range map[string]told{
		"plain":           {Text: "hello"},
		"escaped in JSON": {Text: strings.Repeat("<", 2000), From: strings.Repeat("&", 5000)},
		"escaped twice":   {Text: strings.Repeat("\U000e0041", 2000), From: strings.Repeat("\u202e", 5000)},
		"a quote":         {Text: "hello", Author: strings.Repeat("\u202e", 5000), Forwarded: true, Quote: &ipc.Quote{Text: strings.Repeat("\u202e", 5000), Selected: "x"}},
		"many files":      {Text: strings.Repeat("\U000e0041", 2000), Files: make([]toldFile, 100)},
	} {
		for i := range m.Files {
			m.Files[i] = toldFile{Number: i + 1, Name: strings.Repeat("&", 250)}
		}
		var all []told
		for i := range 12 {
			m.ID = fmt.Sprint(i)
			all = append(all, m)
		}
		seen := 0
		for len(all) > 0 {
			shown, lines := newest(all, 5, time.UTC)
			data, err := json.Marshal(map[string]any{"messages": shown, "words": strings.Join(lines, "\n")})
			if err != nil || len(shown) == 0 || len(shown) > 5 || len(lines) != len(shown) || len(data) > ipc.MaxData {
				t.Fatalf("%s: %d messages in %d bytes, %v", name, len(shown), len(data), err)
			}
			seen += len(shown)
			all = all[:len(all)-len(shown)]
			if last := shown[len(shown)-1].ID; last != fmt.Sprint(len(all)+len(shown)-1) {
				t.Fatalf("%s: the newest is %s", name, last)
			}
		}
		if seen != 12 {
			t.Errorf("%s: %d of 12 were seen", name, seen)
		}
	}
}

// Of two clients only one reads the list of messages, and the other the words for it: lists
// and code that the assistant had written were one line.
func TestAnAssistantsOwnWordsKeepTheirLinesInTheList(t *testing.T) {
	m := told{ID: "7", From: "Andy", Own: true, Text: "- **a**\n- b\n[8] Ann: hello"}
	if got := m.line(time.UTC); !strings.HasSuffix(got, ": - **a**\n    - b\n    [8] Ann: hello") {
		t.Errorf("%q", got)
	}
	m.Own, m.From = false, "Ann"
	if got := m.line(time.UTC); strings.Contains(got, "\n") {
		t.Errorf("a member's: %q", got)
	}
}

// A member's message is one line of the list, with what it answers and who wrote what it
// forwards.
func TestTheListSaysWhatIsForwardedAndAnswered(t *testing.T) {
	m := told{ID: "7", From: "Ann", Text: "is this\ntrue?", Forwarded: true, Author: "Bo\nEk", Files: []toldFile{{Number: 1, Name: "a.pdf", Bytes: 3, Quoted: true}},
		Quote: &ipc.Quote{From: "Cy", Text: "down since nine", Selected: "since\nnine", Forwarded: true, Elsewhere: true}}
	want := `[7] 1 Jan 0001 00:00, Ann (forwarded, written by "Bo\nEk"): is this true? [answers Cy, forwarded, of another chat: since nine] [file 1 of what it answers: a.pdf, 3 bytes]`
	if got := m.line(time.UTC); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
