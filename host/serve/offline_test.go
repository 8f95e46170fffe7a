package serve

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/config"
)

// What a command queues while no host runs waits for one.
func TestWithoutAHostASendIsHeld(t *testing.T) {
	_, err := offline{}.Send(t.Context(), channel.Message{})
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Held || e.Code != "no_host" {
		t.Errorf("%v", err)
	}
}

// A member's file was given up for good if its channel was down when the host fetched it.
func TestAFileOfAChannelThatIsDownIsFetchedLater(t *testing.T) {
	down := config.Channel{Name: "push", Platform: push.Platform()}
	all := platforms{channel.NewHolder(offline{Channel: down, why: "no token"})}
	if _, err := all.Fetch(t.Context(), "push", channel.FileRef{}); channel.ClassOf(err) != channel.Held {
		t.Errorf("a channel that is down: %v", err)
	}
	if _, err := all.Fetch(t.Context(), "gone", channel.FileRef{}); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("a channel that is gone: %v", err)
	}
}

// An admin whose message came as the channel went down was refused as one who is none.
func TestNobodyKnowsTheRolesOfAChannelThatIsDown(t *testing.T) {
	down := config.Channel{Name: "push", Platform: push.Platform()}
	all := platforms{channel.NewHolder(offline{Channel: down, why: "no token"})}
	if role, err := all.RoleOf(t.Context(), groups.Address{Channel: "push", JID: "push:a"}, "ann"); err == nil {
		t.Errorf("the role is %q", role)
	}
}
