package backup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestQueueDirectoriesThatVanishAreMadeAsTheyWere removes what somebody who
// tidies up might remove, while the host runs.
func TestQueueDirectoriesThatVanishAreMadeAsTheyWere(t *testing.T) {
	s := stage.NewSite(t, t.TempDir(), 1, stage.NoLimits)
	before := tree(t, s.Cfg.Layout().IPCDir())
	s.Start(nil, memory.New(memory.Options{Online: true}))
	// Those come first whose loss makes the host write nothing: it restores all.
	for _, dir := range []string{"g0/files", "g0/input", "g0/context", "g0/results", "errors"} {
		if err := os.RemoveAll(filepath.Join(s.Cfg.Layout().IPCDir(), dir)); err != nil {
			t.Fatal(err)
		}
	}
	s.Place("g0", "a.json", "{")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(stage.Patience); ; { // what waits for a result takes a missing directory for a host of the old kind
		if r, err := s.Client("g0").Status("a"); err == nil && r.Status == ipc.Refused {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the request was never refused")
		}
	}
	if diff := cmp.Diff(before, tree(t, s.Cfg.Layout().IPCDir())); diff != "" {
		t.Errorf("the directories (-before +after):\n%s", diff)
	}
}

// tree is the mode and the owner of every directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			st := info.Sys().(*syscall.Stat_t)
			all[path] = fmt.Sprintf("%v of %d:%d", info.Mode(), st.Uid, st.Gid)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
