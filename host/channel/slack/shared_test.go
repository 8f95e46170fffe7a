package slack_test

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// Two installations with one token each got a part of what members wrote, and neither said so. The second one
// connects anew before it says so: the other connection may be that of a host which has died.
func TestAnotherInstallationHadTheToken(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	if w.ch.(channel.Shared).Shared() {
		t.Error("one installation counts as two")
	}
	other := &world{Server: w.Server, setup: w.setup}
	other.setup.State = statetest.Open(t, t.TempDir())
	other.made(t)
	slack.RecountAfter(other.ch, time.Millisecond)
	other.run(t)
	other.status(t, func(bool, string) bool { return other.ch.(channel.Shared).Shared() })
}
