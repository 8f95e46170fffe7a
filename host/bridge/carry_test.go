package bridge_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/ipc"
)

// slow does not say yet to which thread a request belongs.
type slow struct {
	told
	asked   atomic.Int32
	release chan struct{}
}

func (a *slow) ThreadOf(folder, turn string, written time.Time) (string, bool) {
	a.asked.Add(1)
	<-a.release
	return a.told.ThreadOf(folder, turn, written)
}

// After a start with a thousand groups of ten requests each, four groups shared the wait for the
// disk, and the processors were idle. A backlog of few groups fills a commit, as before.
func TestGroupsOfFewRequestsAreCarriedTogether(t *testing.T) {
	for name, c := range map[string]struct{ folders, requests, want int }{
		"many groups of one":   {40, 1, 32},
		"few groups of many":   {6, 64, 4},
		"a few groups of some": {20, 30, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				var all []groups.Group
				var folders []string
				for i := range c.folders {
					folder := fmt.Sprintf("g%02d", i)
					folders = append(folders, folder)
					all = append(all, groups.Group{Name: folder, Folder: folder, Chat: groups.JID("mem:" + folder), Channel: "memory"})
				}
				registry, err := groups.NewRegistry(all)
				check(t, err)
				check(t, s.layout.Prepare(all))
				s.set.registry = registry
				for _, g := range all {
					m, err := mounts.New(s.layout, g)
					check(t, err)
					defer m.Close()
					s.set.mounts[g.Folder] = m
					for n := range c.requests {
						s.enqueue(g.Folder, fmt.Sprintf("%04d", n), ipc.Request{Type: ipc.TypeMessage, Text: "x"}, time.Now())
					}
				}
				assistants := &slow{release: make(chan struct{})}
				stop := s.run(assistants, folders...)
				synctest.Wait()
				if n := int(assistants.asked.Load()); n != c.want {
					t.Errorf("%d groups are carried at once, want %d", n, c.want)
				}
				close(assistants.release)
				synctest.Wait()
				stop()
				if n := int(assistants.asked.Load()); n != c.folders*c.requests {
					t.Errorf("%d requests were carried, of %d", n, c.folders*c.requests)
				}
			})
		})
	}
}
