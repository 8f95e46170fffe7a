package audit

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestEntriesThatWereRepeatedStoodInTheTrailTwice: those that the Log recognised took the place of
// those that it had yet to recognise.
func TestEntriesThatWereRepeatedStoodInTheTrailTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, start := quiet(t.TempDir()), time.Now()
		const minutes, perMinute = 45, remembered / 20
		l := open(t, o)
		if got := l.Since(); !got.Equal(start.Add(-repeat)) {
			t.Errorf("without a line, entries are repeated from %v on", got)
		}
		for m := range minutes {
			l.Add(outcomes(m*perMinute, perMinute)...)
			time.Sleep(time.Minute)
		}
		closed(t, l)
		time.Sleep(100 * time.Hour)
		l = open(t, o)
		if want := start.Add(20 * time.Minute); !l.Since().Equal(want) { // those before are recognised no longer
			t.Errorf("entries are repeated from %v on, want %v", l.Since(), want)
		}
		l.Add(outcomes(20*perMinute, (minutes-20)*perMinute)...)
		closed(t, l)
		if s, err := Verify(t.Context(), Files(o.Dir), ""); err != nil || s.Entries != minutes*perMinute {
			t.Errorf("the trail has %d entries, %v", s.Entries, err)
		}
	})
}

func outcomes(from, n int) (all []Entry) {
	for i := range n {
		all = append(all, sent(from+i))
	}
	return all
}

// TestAnswersDoNotHideAGapInTheTrail: an answer that is recorded late has its own time.
func TestAnswersDoNotHideAGapInTheTrail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, start := quiet(t.TempDir()), time.Now()
		l := open(t, o)
		l.Add(sent(1))
		time.Sleep(2 * time.Hour)
		l.Add(sent(2))
		closed(t, l)
		time.Sleep(100 * time.Hour)
		l = open(t, o)
		answer := sent(3)
		answer.Event, answer.Time = Approved, time.Now().Add(-50*time.Hour)
		l.Add(answer, sent(4))
		closed(t, l)
		l = open(t, o)
		if want := start.Add(2*time.Hour - lateBy); !l.Since().Equal(want) {
			t.Errorf("entries are repeated from %v on, want %v", l.Since(), want)
		}
		closed(t, l)
	})
}
