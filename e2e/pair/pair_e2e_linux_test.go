//go:build e2e

package pair

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// ends are the ways in which an owner ends.
var ends = map[string]struct {
	how    func(*host)
	within time.Duration // until the other one owns, once the owner has ended
}{
	"kill -9 of the owner": {func(h *host) { _ = syscall.Kill(h.child(), syscall.SIGKILL) }, lease + 2*time.Second},
	"a pulled plug":        {(*host).kill, lease + 2*time.Second},
	"SIGTERM": {func(h *host) {
		_ = h.guard.Process.Signal(syscall.SIGTERM)
		<-h.ended
		h.guard = nil
	}, time.Second},
	"SIGSTOP":                    {func(h *host) { _ = syscall.Kill(h.child(), syscall.SIGSTOP) }, lease + 2*time.Second},
	"a deaf way to the database": {func(h *host) { h.way.up.Store(true); h.way.down.Store(true) }, lease + 2*time.Second},
}

func TestTheOtherHostTakesOverAndNothingIsLostOrShownTwice(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			owner, other := p.begin()
			for range 5 {
				p.send()
			}
			child := owner.child()
			end.how(owner)
			began := time.Now()
			if name == "SIGTERM" { // it does not let the lease run out
				if out, errs := p.db.Psql("postgres", "SELECT owner <> '"+owner.name+"' OR expires <= clock_timestamp() FROM lease"); strings.TrimSpace(out) != "t" {
					t.Errorf("the lease was not given back: %s%s", out, errs)
				}
			}
			stage.Await(t, "a host owns", func() bool { // its guard starts the same one again
				return other.owns() || owner.guard != nil && owner.child() != child && owner.owns()
			})
			took := time.Since(began)
			if took > end.within {
				t.Errorf("it took %v, more than %v", took, end.within)
			}
			t.Logf("took over after %v", took)
			for range 5 {
				p.send()
			}
			if other.owns() {
				p.whole(other)
			} else {
				p.whole(owner)
			}
		})
	}
}

// rounds is how often an owner of one pair ends, unless LONGSHORE_TEST_PAIR says otherwise.
const rounds = 4

func TestOwnersEndOneAfterTheOther(t *testing.T) {
	n := timesOr(t, rounds)
	names := slices.Sorted(maps.Keys(ends))
	p := newPair(t)
	p.begin()
	slowest := time.Duration(0)
	for i := range n {
		var owner *host
		stage.Await(t, "a host owns", func() bool {
			owner = p.owner()
			return owner != nil
		})
		p.send()
		name := names[rand.IntN(len(names))]
		began := time.Now()
		child := owner.child()
		ends[name].how(owner)
		p.send() // by whichever host owns next
		took := time.Since(began)
		slowest = max(slowest, took)
		t.Logf("%d: %s of %s: the next text was sent after %v", i, name, owner.name, took)
		if owner.guard == nil {
			owner.start()
		}
		owner.way.up.Store(false)
		owner.way.down.Store(false)
		stage.Await(t, owner.name+" is back", func() bool { return owner.child() != child && owner.ready() != 0 })
	}
	stage.Await(t, "a host owns", func() bool { return p.owner() != nil })
	p.whole(p.owner())
	t.Logf("%d ends, %d texts, the slowest after %v", n, p.sent, slowest)
}

func TestAStandbySaysWhoOwns(t *testing.T) {
	p := newPair(t)
	a, b := p.begin()
	for _, url := range []string{"http://" + b.page + "/", "http://" + b.page + "/api/chats/quay/messages", "http://" + b.remote + "/api/chat", "http://" + b.metrics + "/readyz"} {
		code, body := get(url, "")
		if code != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"standby"`) || !strings.Contains(body, "a owns") {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
	if code, body := get("http://"+b.metrics+"/healthz", ""); code != http.StatusOK {
		t.Errorf("healthz: %d %s", code, body)
	}
	if c := b.status().Cluster; c == nil || c.Owner != "a" || c.Host != "b" || c.Reason == "" || !c.Owned || len(c.Hosts) != 2 {
		t.Errorf("%+v", c)
	}
	for _, args := range [][]string{{"tokens", "list"}, {"why", "quay"}, {"why", "registered"}, {"doctor"}, {"status"}} {
		if out, _ := b.command(args...).CombinedOutput(); !strings.Contains(string(out), "a owns") || strings.Contains(string(out), "longshore reload") {
			t.Errorf("%v: %s", args, out)
		}
	}
	b.kill() // and so does a host at rest
	for _, args := range [][]string{{"doctor"}, {"errors", "retry", "018f7a5e-aaaa"}} {
		if out, _ := b.command(args...).CombinedOutput(); !strings.Contains(string(out), "a owns") || strings.Contains(string(out), "docs/cluster.md") {
			t.Errorf("%v at rest: %s", args, out)
		}
	}
	_ = a.guard.Process.Signal(syscall.SIGTERM)
	<-a.ended
	if out, _ := a.command("doctor").CombinedOutput(); !strings.Contains(string(out), "no host owns now") {
		t.Errorf("with no host: %s", out)
	}
}

func TestAHostThatTookOverDiedOfASIGHUP(t *testing.T) {
	p := newPair(t)
	a, b := p.begin()
	child := b.child()
	if out, err := a.command("cluster", "yield", "--to", "b").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	stage.Await(t, "b owns", func() bool { // with no moment in which b does not listen
		_ = syscall.Kill(child, syscall.SIGHUP)
		return b.owns() || b.child() != child
	})
	if b.child() != child {
		t.Error("it was started again")
	}
}

// kills is how many times hosts under a mixed stream are killed, unless LONGSHORE_TEST_PAIR says otherwise.
const kills = 6

// plugs are the hosts whose plug is pulled; the owner is the first one.
var plugs = map[string]func(owner, other *host) []*host{
	"the owner":   func(owner, _ *host) []*host { return []*host{owner} },
	"the standby": func(_, other *host) []*host { return []*host{other} },
	"both":        func(owner, other *host) []*host { return []*host{owner, other} },
}

func TestKilledUnderAMixedStreamNothingIsLostShownTwiceOrOutOfOrder(t *testing.T) {
	n := timesOr(t, kills)
	p := newPairOn(t, pgtest.Start(t), newWholeSea(t), wholeLease)
	p.begin()
	under := p.streams()
	owner, other := p.settled()
	names := slices.Sorted(maps.Keys(plugs))
	took := map[string][]time.Duration{}
	for i := range n {
		name := names[i%len(names)]
		killed := plugs[name](owner, other)
		for _, h := range killed {
			h.kill()
		}
		began := time.Now()
		if name == "both" {
			for _, h := range killed {
				h.start()
			}
		}
		stage.Await(t, "a host owns", func() bool { return p.owner() != nil })
		took[name] = append(took[name], time.Since(began))
		for _, h := range killed {
			if h.guard == nil {
				h.start()
			}
		}
		owner, other = p.settled()
		under.moved(t)
	}
	if uncertain := p.all(under, owner); uncertain > n {
		t.Errorf("%d texts are uncertain after %d kills", uncertain, n)
	}
	for _, name := range names {
		slices.Sort(took[name])
		if all := took[name]; len(all) > 0 {
			t.Logf("%d kills of %s: a host owned after %v, %v and %v (least, median, most)", len(all), name, all[0], all[len(all)/2], all[len(all)-1])
			if most := all[len(all)-1]; n > kills && most > wholeLease+2*time.Second {
				t.Errorf("after the end of %s nobody owned for %v", name, most)
			}
		}
	}
}

// timesOr is what LONGSHORE_TEST_PAIR says, or n.
func timesOr(t *testing.T, n int) int {
	t.Helper()
	if text := os.Getenv("LONGSHORE_TEST_PAIR"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// A command on the machine of a dead host had that host chosen as the next owner; a host that was
// started again at once said that another one bears its name.
func TestAHostThatDiedWasToOwnNext(t *testing.T) {
	p := newPair(t)
	a, b := p.begin()
	b.kill()
	stage.Await(t, "b is not seen", func() bool {
		if out, err := b.command("errors", "retry", "018f7a5e-aaaa").CombinedOutput(); err == nil || !strings.Contains(string(out), "a owns") {
			t.Errorf("%v %s", err, out)
		}
		out, _ := a.command("cluster", "list").Output()
		return strings.Contains(string(out), "not seen")
	})
	for _, args := range [][]string{{"cluster", "yield"}, {"cluster", "yield", "--to", "b"}} {
		out, err := b.command(args...).CombinedOutput()
		if err == nil || len(args) > 2 && !strings.Contains(string(out), "b does not run, and was last seen at") {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
	for range 2 {
		b.start()
		stage.Await(t, "b stands by", func() bool { return b.standsBy() && b.status().Cluster.Owner == "a" })
		for _, f := range b.findings() {
			if f.Name == finding.ClusterName {
				t.Errorf("%+v", f)
			}
		}
		b.kill()
	}
}
