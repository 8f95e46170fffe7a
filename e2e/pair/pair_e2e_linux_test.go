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
)

// ends are the ways in which an owner ends.
var ends = map[string]struct {
	how    func(*host)
	within time.Duration // until the other one owns
}{
	"kill -9 of the owner": {func(h *host) { _ = syscall.Kill(h.child(), syscall.SIGKILL) }, lease + 2*time.Second},
	"a pulled plug":        {(*host).kill, lease + 2*time.Second},
	"SIGTERM": {func(h *host) {
		_ = h.guard.Process.Signal(syscall.SIGTERM)
		<-h.ended
		h.guard = nil
	}, time.Second},
	"SIGSTOP":                    {func(h *host) { _ = syscall.Kill(h.child(), syscall.SIGSTOP) }, lease + 2*time.Second},
	"a deaf way to the database": {func(h *host) { h.way.deaf.Store(true) }, lease + 2*time.Second},
}

func TestTheOtherHostTakesOverAndNothingIsLostOrShownTwice(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, "")
			owner, other := p.begin()
			for range 5 {
				p.send()
			}
			child, began := owner.child(), time.Now()
			end.how(owner)
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
	n := rounds
	if text := os.Getenv("LONGSHORE_TEST_PAIR"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	names := slices.Sorted(maps.Keys(ends))
	p := newPair(t, "")
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
		owner.way.deaf.Store(false)
		stage.Await(t, owner.name+" is back", func() bool { return owner.child() != child && owner.ready() != 0 })
	}
	stage.Await(t, "a host owns", func() bool { return p.owner() != nil })
	p.whole(p.owner())
	t.Logf("%d ends, %d texts, the slowest after %v", n, p.sent, slowest)
}

func TestAStandbySaysWhoOwns(t *testing.T) {
	p := newPair(t, "")
	_, b := p.begin()
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
	out, err := b.command("tokens", "list").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a owns") {
		t.Errorf("%v %s", err, out)
	}
}

func TestAHostThatTookOverDiedOfASIGHUP(t *testing.T) {
	p := newPair(t, "")
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
