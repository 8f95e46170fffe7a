package whatsapp

import (
	"testing"
	"time"
)

// Each lost acknowledgement keeps the slot for the patience of that moment.
func TestHoweverManyAcknowledgementsAreLostTheyDelayOthersByLessThanTwoTimeouts(t *testing.T) {
	s := sendSlot{patience: defaultPatience, ackTime: 25 * time.Second}
	var delay time.Duration
	for lost := range 40 {
		delay += s.patienceNow()
		s.missing.Add(1)
		if most := 2*defaultPatience + time.Duration(lost)*leastPatience; delay >= most {
			t.Errorf("after %d lost acknowledgements others wait for %v, want less than %v", lost+1, delay, most)
		}
	}
	s = sendSlot{patience: defaultPatience, ackTime: time.Second}
	if got := s.patienceNow(); got != time.Second {
		t.Errorf("the patience is %v, longer than a Send waits in all", got)
	}
}
