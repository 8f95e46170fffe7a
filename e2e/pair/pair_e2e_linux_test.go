//go:build e2e

package pair

import (
	"net/http"
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
			began := time.Now()
			end.how(owner)
			if name == "kill -9 of the owner" { // the same host may take over again
				stage.Await(t, "a host owns", func() bool { return owner.owns() || other.owns() })
			} else {
				stage.Await(t, "the other owns", other.owns)
			}
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
