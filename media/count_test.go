package media_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

// TestSevenDeliverys were counted.
func TestSevenDeliverys(t *testing.T) {
	for noun, want := range map[string]string{"delivery": "7 deliveries", "day": "7 days", "key": "7 keys", "turn": "7 turns"} {
		if got := media.Count(7, noun); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
