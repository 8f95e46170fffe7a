package serve

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

// What a command queues while no host runs waits for one.
func TestWithoutAHostASendIsHeld(t *testing.T) {
	_, err := offline{}.Send(t.Context(), channel.Message{})
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Held || e.Code != "no_host" {
		t.Errorf("%v", err)
	}
}
