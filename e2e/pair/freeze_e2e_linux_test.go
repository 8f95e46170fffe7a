//go:build e2e

package pair

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// moments are the steps of an attempt. Each calls do at the next one of a host.
var moments = []struct {
	name string
	at   func(p *pair, h *host, do func())
}{
	{"between BEGIN and COMMIT", func(_ *pair, h *host, do func()) {
		h.way.next(func(answer []byte) bool {
			return bytes.Contains(answer, []byte("BEGIN\x00")) && !bytes.Contains(answer, []byte("COMMIT\x00"))
		}, do)
	}},
	{"before the answer to a COMMIT", func(_ *pair, h *host, do func()) {
		h.way.next(func(answer []byte) bool { return bytes.Contains(answer, []byte("COMMIT\x00")) }, do)
	}},
	{"before the platform has a message", func(p *pair, _ *host, do func()) { p.sea.discord.Next("create", discordtest.Fault{Before: do}) }},
	{"after the platform has a message, before the record", func(p *pair, _ *host, do func()) { p.sea.discord.Next("create", discordtest.Fault{After: do}) }},
}

// stops are the ways in which an owner stops to be one, and how it is let go.
var stops = []struct {
	name        string
	stop, letGo func(h *host)
}{
	{"is frozen", func(h *host) { _ = syscall.Kill(h.child(), syscall.SIGSTOP) }, func(*host) {}}, // its guard ends it
	{"is frozen without a guard", func(h *host) {
		h.frozen = h.child()
		_ = h.guard.Process.Signal(syscall.SIGSTOP)
		_ = syscall.Kill(h.frozen, syscall.SIGSTOP)
	}, func(h *host) {
		_ = syscall.Kill(h.frozen, syscall.SIGCONT)
		stage.Await(h, "the thawed host ends by its own clock", func() bool { return gone(h.frozen) })
		_ = h.guard.Process.Signal(syscall.SIGCONT)
	}},
	{"does not hear the database", func(h *host) { h.way.down.Store(true) }, func(h *host) { h.way.down.Store(false) }},
	{"does not reach the database", func(h *host) { h.way.up.Store(true) }, func(h *host) { h.way.up.Store(false) }},
}

// shortStops is how many of all moments and stops the test tries, unless LONGSHORE_TEST_PAIR is set.
const shortStops = 4

// An owner that stops at a step of an attempt must send nothing once another host owns, but for what a frozen
// one without a guard had begun: that goes out with the same id.
func TestAnOwnerThatStopsAtAStepOfAnAttemptSendsNothingTwice(t *testing.T) {
	all := rand.Perm(len(moments) * len(stops))
	all = all[:min(timesOr(t, shortStops), len(all))]
	sea := newSea(t)
	sea.folders = []string{"quay", "push", "discord"} // they know ids
	p := newPairOn(t, pgtest.Start(t), sea, lease)
	p.begin()
	under := p.streams()
	for _, n := range all {
		moment, stop := moments[n/len(stops)], stops[n%len(stops)]
		owner, other := p.settled()
		t.Logf("%s %s %s", owner.name, stop.name, moment.name)
		child, stopped := owner.child(), make(chan struct{})
		moment.at(p, owner, func() {
			stop.stop(owner)
			close(stopped)
		})
		select {
		case <-stopped:
		case <-time.After(stage.Patience):
			t.Fatalf("there was nothing %s", moment.name)
		}
		began := time.Now()
		stage.Await(t, other.name+" owns", other.owns)
		took := time.Since(began)
		if stop.name == "is frozen" && !gone(child) {
			t.Errorf("the frozen owner lives when the other one owns")
		}
		stop.letGo(owner)
		t.Logf("%s owned after %v", other.name, took)
		under.moved(t)
	}
	owner, _ := p.settled()
	p.all(under, owner)
}

// gone reports whether a process is no more, or only waits for its parent to hear that.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// PostgreSQL crashes and recovers while a pair is at work.
func TestAPostgreSQLThatCrashesUnderAPairLosesNothing(t *testing.T) {
	p := newPairOn(t, pgtest.Start(t), newSea(t), lease)
	p.begin()
	under := p.streams()
	for range timesOr(t, 2) {
		under.moved(t)
		p.db.Stop(syscall.SIGQUIT)
		p.db.Again()
		began := time.Now()
		stage.Await(t, "a host owns", func() bool { return p.owner() != nil })
		under.moved(t)
		t.Logf("all go on after %v", time.Since(began))
	}
	owner, _ := p.settled()
	p.all(under, owner)
}
