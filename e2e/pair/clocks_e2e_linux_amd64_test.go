//go:build e2e

package pair

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// The clock of one host is an hour ahead. It owns after the other one, and dies when Discord has a message whose
// record is not made: the next owner looks for that message by a clock that is an hour behind.
func TestHostsWhoseClocksAreAnHourApartLoseAndRepeatNothing(t *testing.T) {
	sea := newSea(t)
	sea.folders = []string{"quay", "slack", "discord"} // a receiver of push refuses signatures that are an hour old
	p := newPairOn(t, pgtest.Start(t), sea, lease)
	a, b := p.begin()
	clock, err := stage.ClockOf(b.child())
	if err == nil {
		defer clock.Close()
		err = clock.Set(time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	under := p.streams()
	a.kill()
	began := time.Now()
	stage.Await(t, "b owns", b.owns)
	t.Logf("b, an hour ahead, owns after %v", time.Since(began))
	under.moved(t)
	a.start()
	stage.Await(t, "a stands by", a.standsBy)

	dead := make(chan struct{})
	sea.discord.Next("create", discordtest.Fault{After: func() {
		b.kill()
		close(dead)
	}})
	<-dead
	began = time.Now()
	stage.Await(t, "a owns", a.owns)
	t.Logf("a owns after %v", time.Since(began))
	under.moved(t)
	p.all(under, a)
}
