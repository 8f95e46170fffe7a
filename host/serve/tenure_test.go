package serve

import (
	"log/slog"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// A host owned, another one owned and ran its turns again, and then the first one carried what had waited in
// its queue. The same holds for requests that its last commit had recorded: a week later nobody knows their keys.
func TestWhatHadWaitedWhileAnotherHostOwnedWasCarried(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for name, tt := range map[string]struct {
		tenures [][2]int64 // of hosts here: the last owner's number, and the own one
		command [2]int64   // of a command here, after them
		before  int64      // of the start that is asked
		held    bool
	}{
		"the first owner of all":                        {},
		"the same host again":                           {tenures: [][2]int64{{0, 3}}, before: 3},
		"the same host, after one of another machine":   {tenures: [][2]int64{{0, 3}}, before: 5, held: true},
		"the same host twice, after one":                {tenures: [][2]int64{{0, 3}, {5, 9}}, before: 9},
		"a queue of which nobody knows who had it":      {before: 5, held: true},
		"a start that failed before its queue was open": {tenures: [][2]int64{{0, 3}}, command: [2]int64{3, 5}, before: 5},
		"after a command here":                          {tenures: [][2]int64{{0, 3}}, command: [2]int64{3, 4}, before: 4},
		"after another machine and then a command here": {tenures: [][2]int64{{0, 3}}, command: [2]int64{5, 6}, before: 6, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := groups.Layout{State: t.TempDir()}
			if err := l.Prepare([]groups.Group{{Name: "A", Folder: "a", Chat: "mem:a", Channel: "mem"}}); err != nil {
				t.Fatal(err)
			}
			for _, own := range tt.tenures {
				if err := holdQueue(l, own[0], own[1], log); err != nil {
					t.Fatal(err)
				}
			}
			request := fstest.Write(t, "{}", l.IPC("a", "messages"), "r.json")
			if tt.command[1] != 0 {
				if _, err := NoteTenure(l, tt.command[0], tt.command[1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := holdQueue(l, tt.before, 100, log); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(request); (err != nil) != tt.held {
				t.Errorf("the request: %v", err)
			}
			all, err := spool.ListErrors(l.IPCDir())
			if err != nil || (len(all) == 1 && all[0].Code == "taken_over") != tt.held {
				t.Errorf("held: %+v, %v", all, err)
			}
		})
	}
}
