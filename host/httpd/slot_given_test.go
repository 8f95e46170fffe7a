package httpd

import (
	"context"
	"testing"
)

// A post's time to wait may run out in the instant in which it is given its slot.
func TestAPostThatWasGivenItsPlaceIsNotAnsweredBusy(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		p := NewUploadSlots().Take(over, nil, nil)
		if p == nil {
			t.Fatal("the post has a slot and was answered busy")
		}
		p.Leave()
	}
}
