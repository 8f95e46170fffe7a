package bridge_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// start is a start of a host with this trail, until it has nothing to do.
func (s *site) start(o audit.Options) {
	s.t.Helper()
	log, err := audit.Open(o)
	check(s.t, err)
	s.opts.Audit = log
	check(s.t, bridge.New(s.opts).RecordMissing(s.t.Context()))
	s.runOnce()
	s.opts.Audit = nil
	check(s.t, log.Close())
}

// runOnce runs a host until it has nothing to do.
func (s *site) runOnce() {
	s.t.Helper()
	stop := s.run(&told{})
	synctest.Wait()
	stop()
}

// TestACrashMoreThanADayAgoLeftAGapInTheTrail: only what had changed in the last day was
// recorded again. The first start after the crash ends before it has recorded anything.
func TestACrashMoreThanADayAgoLeftAGapInTheTrail(t *testing.T) {
	for form := range trailForms {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { gapInTheTrail(t, form) })
		})
	}
}

// trailForms make a trail of each form, for the host that writes it and for who reads it.
var trailForms = map[string]func(t *testing.T) (audit.Options, audit.Trail){
	"files": func(t *testing.T) (audit.Options, audit.Trail) {
		dir := t.TempDir()
		return audit.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}, audit.Files(dir)
	},
	"rows": func(t *testing.T) (audit.Options, audit.Trail) {
		db := statetest.Open(t, t.TempDir())
		return audit.Options{State: db, Log: slog.New(slog.DiscardHandler)}, audit.Rows(db)
	},
}

func gapInTheTrail(t *testing.T, form string) {
	s := newSite(t)
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	o, trail := trailForms[form](t)
	check(t, s.outbox.Put(t.Context(), []records.Delivery{asked("family", "noted")}))
	s.start(o)
	time.Sleep(time.Minute)

	check(t, s.outbox.Put(t.Context(), []records.Delivery{asked("family", "lost")}))
	s.handle("family", file(s.write("family", "a.txt", "for you")))
	check(t, bridge.New(s.opts).Decide(t.Context(), "0001", false, "operator"))
	s.runOnce() // without the trail: as if the crash took its last lines
	time.Sleep(8 * 24 * time.Hour)

	log, err := audit.Open(o)
	check(t, err)
	log.Add(audit.Entry{Event: "repaired"}) // as Open does with half a line
	check(t, log.Close())
	for range 3 {
		time.Sleep(10 * time.Hour)
		s.start(o)
		want := map[string][]string{"noted": {"sent"}, "lost": {"sent"}, "0001": {"not_approved", "refused"}}
		got := map[string][]string{}
		check(t, audit.Search(t.Context(), trail, func(e audit.Entry) error {
			if e.Request != "" {
				got[e.Request] = append(got[e.Request], e.Event)
			}
			return nil
		}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the trail (-want +got):\n%s", diff)
		}
	}
}
