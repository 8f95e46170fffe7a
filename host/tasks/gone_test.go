package tasks_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// A task for once that was due while its group was gone from the file was over without a run.
func TestATaskWhoseGroupWasGoneLostItsOnlyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.schedule("once", "2000-01-01T15:30:00")
		without, err := groups.NewRegistry([]groups.Group{{Name: "Home", Folder: "home", Chat: "web:home", Main: true, Assistant: "sample"}})
		must(t, err)
		w.registry = without
		end := w.serve()
		time.Sleep(20 * time.Hour)
		end()
		if n := len(w.begun()); n != 0 {
			t.Errorf("%d runs", n)
		}
		w.close()
		w.open()
		w.serve()
		time.Sleep(2 * time.Hour)
		if n := len(w.begun()); n != 1 {
			t.Errorf("%d runs after the group came back", n)
		}
	})
}

// A task in another group's chat was paused for good while the file lacked one of the two.
func TestATaskInAnotherChatWasPausedWhenTheFileLostAGroup(t *testing.T) {
	for _, gone := range []string{"home", "work"} {
		for typ, value := range map[string]string{"once": "2000-01-01T15:30:00", "cron": "0 9 * * *", "interval": "86400000"} {
			t.Run(gone+" "+typ, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					r := scheduled(typ, value)
					r.TargetJID = "web:work"
					_, err := w.call("home", r)
					must(t, err)
					had := w.registry
					w.registry, err = groups.NewRegistry(slices.DeleteFunc(had.All(), func(g groups.Group) bool { return g.Folder == gone }))
					must(t, err)
					end := w.serve()
					time.Sleep(40 * time.Hour)
					end()
					if n := len(w.begun()); n != 0 {
						t.Errorf("%d runs without the group", n)
					}
					w.registry = had
					w.serve()
					time.Sleep(24 * time.Hour)
					if runs := w.begun(); len(runs) != 1 || runs[0].Folder != "work" {
						t.Errorf("after the group came back: %+v", runs)
					}
				})
			})
		}
	}
}
