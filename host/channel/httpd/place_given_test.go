package httpd

import (
	"context"
	"testing"
)

// A post's time to wait may run out in the instant in which it is given its place.
func TestAPostThatWasGivenItsPlaceIsNotAnsweredBusy(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		p := NewPlaces().Take(over, nil, nil)
		if p == nil {
			t.Fatal("the post has a place and was answered busy")
		}
		p.Leave()
	}
}
