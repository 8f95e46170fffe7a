//go:build e2e

package pair

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// island is a network namespace in which a host runs. Its loopback is its sea: forwarders carry connections over.
type island struct {
	*testing.T
	name string
}

// newIsland makes one, in which host will start.
func newIsland(t *testing.T, h *host) *island {
	t.Helper()
	if os.Getuid() != 0 {
		need.Lacking(t, "make a network namespace: only root does")
	}
	i := &island{t, fmt.Sprintf("longshore-%d", os.Getpid())}
	if out, err := exec.Command("ip", "netns", "add", i.name).CombinedOutput(); err != nil {
		need.Lacking(t, "make a network namespace: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", i.name).Run() })
	if out, err := exec.Command("ip", "-n", i.name, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := i.nft("add table inet cut; add chain inet cut in { type filter hook input priority 0; }").CombinedOutput(); err != nil {
		need.Lacking(t, "drop packets by nftables: %v %s", err, out)
	}
	h.netns = i.name
	for _, at := range []string{h.page, h.remote, h.metrics} {
		l, err := net.Listen("tcp", at)
		i.forward(l, err, func() (c net.Conn, err error) {
			i.within(func() { c, err = net.Dial("tcp", at) })
			return c, err
		})
	}
	return i
}

// within calls do in the namespace.
func (i *island) within(do func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		f, err := os.Open("/run/netns/" + i.name)
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			_ = f.Close()
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		i.Error(err)
	}
}

// reaches lets the host reach an address outside.
func (i *island) reaches(at string) {
	i.Helper()
	i.within(func() {
		l, err := net.Listen("tcp", at)
		i.forward(l, err, func() (net.Conn, error) { return net.Dial("tcp", at) })
	})
}

func (i *island) forward(l net.Listener, err error, dial func() (net.Conn, error)) {
	if err != nil {
		i.Error(err)
		return
	}
	i.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := dial()
			if err != nil {
				_ = from.Close()
				continue
			}
			carry := func(from, to net.Conn) {
				_, _ = io.Copy(to, from)
				_, _ = from.Close(), to.Close()
			}
			go carry(from, to)
			go carry(to, from)
		}
	}()
}

// cut has the kernel drop what goes to an address outside, and what comes back.
func (i *island) cut(at string) (mend func()) {
	i.Helper()
	_, port, _ := net.SplitHostPort(at)
	for _, which := range []string{"dport", "sport"} {
		i.filter("add rule inet cut in tcp " + which + " " + port + " drop")
	}
	return func() { i.filter("flush chain inet cut in") }
}

// nft is a command of the namespace's packet filter.
func (i *island) nft(command string) *exec.Cmd {
	return exec.Command("ip", "netns", "exec", i.name, "nft", command)
}

func (i *island) filter(command string) {
	i.Helper()
	if out, err := i.nft(command).CombinedOutput(); err != nil {
		i.Fatalf("%s: %v %s", command, err, out)
	}
}

// The network between the owner and the platform, and then between the owner and PostgreSQL, swallows all.
func TestACutNetworkLosesNothing(t *testing.T) {
	sea := newSea(t)
	sea.folders = []string{"quay", "push", "discord"} // they know ids
	p := newPairOn(t, pgtest.Start(t), sea, 5*lease)  // none is lost on a busy machine
	i := newIsland(t, p.hosts[0])
	database, discord := p.hosts[0].way.Addr().String(), addressOf(t, sea.discord.URL())
	for _, at := range []string{database, discord, addressOf(t, sea.push.URL), addressOf(t, sea.slack.URL()), addressOf(t, sea.telegram.URL)} {
		i.reaches(at)
	}
	owner, other := p.begin()
	under := p.streams()
	under.moved(t)

	fence := owner.status().Cluster.Fence
	mend := i.cut(discord)
	for _, s := range under.all {
		if before := s.count(); s.folder != "discord" {
			stage.Await(t, s.folder+" goes on", func() bool { return s.count() > before+1 })
		}
	}
	if now := owner.status().Cluster; !now.Owned || now.Fence != fence {
		t.Errorf("an owner without one platform lost its lease: %+v", now)
	}
	mend()
	began := time.Now()
	under.moved(t)
	t.Logf("Discord goes on after %v", time.Since(began))

	mend = i.cut(database)
	began = time.Now()
	stage.Await(t, other.name+" owns", other.owns)
	t.Logf("%s owns after %v", other.name, time.Since(began))
	under.moved(t)
	mend()
	stage.Await(t, owner.name+" stands by", owner.standsBy)
	under.moved(t)
	p.all(under, other)
}

func addressOf(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
