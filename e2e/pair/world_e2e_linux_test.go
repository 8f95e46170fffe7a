//go:build e2e

package pair

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/pgtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// lease is that of most pairs here.
const lease = 2 * time.Second

// pair is two hosts with one state.
type pair struct {
	*testing.T
	db    *pgtest.Server
	hosts [2]*host
	sea   *sea // nil: the page alone
	lease time.Duration
	token string
	sent  int

	files, channels, groups string // further keys of longshore.yaml, as "files: /mnt"; entries of channels and groups
}

// host is one of them, with its guard.
type host struct {
	*testing.T
	name, dir                   string
	env                         []string
	page, remote, metrics, push string // addresses
	guard                       *exec.Cmd
	ended                       chan struct{}
	log                         *stage.LockedBuffer
	way                         *proxy // to PostgreSQL
	netns                       string // the network namespace in which it runs; empty: the test's
	frozen                      int    // the process id of a child that was stopped with its guard
	groups                      int    // further ones, on the page
	allowance                   int    // more of limits.rate
}

func newPair(t *testing.T) *pair { return newPairOn(t, pgtest.Start(t), nil, lease) }

// newPairOn is newPair for the chats of a sea, and with another lease.
func newPairOn(t *testing.T, db *pgtest.Server, sea *sea, lease time.Duration) *pair {
	t.Helper()
	p := &pair{T: t, db: db, sea: sea, lease: lease}
	used := map[string]bool{}
	fresh := func() (at string) {
		for at = stage.FreeAddress(t); used[at]; at = stage.FreeAddress(t) {
		}
		used[at] = true
		return at
	}
	for i, name := range []string{"a", "b"} {
		h := &host{T: t, name: name, dir: t.TempDir(), page: fresh(), remote: fresh(), metrics: fresh(), log: &stage.LockedBuffer{}}
		h.way = newProxy(t, fmt.Sprintf("127.0.0.1:%d", p.db.Port))
		stage.Write(t, filepath.Join(h.dir, "postgres"), fmt.Sprintf("host=127.0.0.1 port=%d user=longshore dbname=postgres sslmode=disable", h.way.port()))
		sea.equip(h, fresh())
		h.write(p)
		p.hosts[i] = h
	}
	t.Cleanup(func() {
		for _, h := range p.hosts {
			h.kill()
			if t.Failed() {
				t.Logf("%s:\n%s", h.name, h.log)
			}
		}
	})
	return p
}

func (h *host) write(p *pair) {
	h.Helper()
	stage.Write(h.T, filepath.Join(h.dir, "longshore.yaml"), fmt.Sprintf(`state: {directory: state, postgres: {from_file: postgres}%s}
cluster: {name: pair, host: %s, lease: %v}
log: {format: text}
channels: {web: {listen: "%s"}%s}
remote: {listen: "%s"}
metrics: {listen: "%s"}
groups: [{folder: quay, chat: "web:quay"}%s%s]
limits: {free_disk: 0, pending: 10000, rate: {per_minute: %d, burst: 10000}}
`, p.files, h.name, p.lease, h.page, p.sea.channels(h)+p.channels, h.remote, h.metrics, p.sea.groups()+p.groups, h.further(), 100_000+h.allowance))
}

func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"-c", filepath.Join(h.dir, "longshore.yaml")}, args...)...)
	cmd.Env = append(append(os.Environ(), stage.ServeEnv+"=1"), h.env...)
	return cmd
}

func (h *host) start() {
	h.Helper()
	h.guard, h.ended = h.command("serve"), make(chan struct{})
	if h.netns != "" {
		env := h.guard.Env
		h.guard = exec.Command("ip", append([]string{"netns", "exec", h.netns}, h.guard.Args...)...)
		h.guard.Env = env
	}
	h.guard.Stderr = h.log
	if err := h.guard.Start(); err != nil {
		h.Fatal(err)
	}
	cmd, ended := h.guard, h.ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
}

// kill ends guard and child as a plug that is pulled.
func (h *host) kill() {
	if h.guard == nil {
		return
	}
	child := h.child()
	_ = h.guard.Process.Kill()
	if child > 0 {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	<-h.ended
	h.guard = nil
}

// child is the process id of the host below its guard; 0: there is none now.
func (h *host) child() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", h.guard.Process.Pid, h.guard.Process.Pid))
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.guard.Process.Pid))
	for _, one := range tasks { // of the thread that started it
		more, _ := os.ReadFile(one)
		text = append(text, more...)
	}
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			return pid
		}
	}
	return 0
}

// get returns the status and the answer of an address; 0: nobody listens.
func get(url, token string) (int, string) {
	req, _ := http.NewRequest(http.MethodGet, url, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := quick.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// A frozen host answers nobody.
var (
	quick  = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	client = &http.Client{Timeout: 4 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
)

func (h *host) ready() int {
	code, _ := get("http://"+h.metrics+"/readyz", "")
	return code
}

func (h *host) owns() bool { return h.ready() == http.StatusOK }

// owner is the host that owns; nil: none does now.
func (p *pair) owner() *host {
	for _, h := range p.hosts {
		if h.guard != nil && h.owns() {
			return h
		}
	}
	return nil
}

func (h *host) standsBy() bool { return h.ready() == http.StatusServiceUnavailable }

func (h *host) status() (s operator.Status) {
	h.Helper()
	out, err := h.command("status", "--json").Output()
	if err != nil || json.Unmarshal(out, &s) != nil {
		h.Fatalf("status of %s: %v %s", h.name, err, out)
	}
	return s
}

// settled waits until one host owns and the other one stands by.
func (p *pair) settled() (owner, other *host) {
	p.Helper()
	stage.Await(p, "one host owns and the other stands by", func() bool {
		if owner = p.owner(); owner == nil {
			return false
		}
		other = p.hosts[0]
		if other == owner {
			other = p.hosts[1]
		}
		return other.guard != nil && other.standsBy()
	})
	return owner, other
}

// findings are those of the host's status; none if it gives no answer now.
func (h *host) findings() []finding.Finding {
	var s operator.Status
	out, _ := h.command("status", "--json").Output()
	_ = json.Unmarshal(out, &s) // it is being started again
	return s.Findings
}

// begin starts both hosts. The first one owns, unless the machine is so busy that it lost its lease.
func (p *pair) begin() (owner, other *host) {
	p.Helper()
	p.alone()
	p.hosts[1].start()
	return p.settled()
}

// alone starts the first host, links its account and makes the page's token: nothing takes over meanwhile.
func (p *pair) alone() {
	p.Helper()
	p.hosts[0].start()
	p.link()
	p.token = p.newToken("quay")
}

// newToken has whichever host owns make a token. One that ends meanwhile makes none.
func (p *pair) newToken(group string) string {
	p.Helper()
	var made struct {
		Secret string `json:"token"`
	}
	stage.Await(p, "a token of "+group, func() bool {
		owner := p.owner()
		if owner == nil {
			return false
		}
		out, err := owner.command("--json", "tokens", "new", group).Output()
		if err != nil {
			p.Logf("tokens new: %v %s", err, out)
		}
		return err == nil && json.Unmarshal(out, &made) == nil && made.Secret != ""
	})
	return made.Secret
}

// send has the next text sent, by whichever host owns, as often as it takes.
func (p *pair) send() {
	p.Helper()
	body := fmt.Sprintf(`{"type":"message","text":"%d"}`, p.sent)
	for over := time.Now().Add(time.Minute); ; {
		for _, h := range p.hosts {
			if h.guard != nil && p.post(h, body) {
				p.sent++
				return
			}
		}
		if time.Now().After(over) {
			p.Fatalf("nobody takes text %d", p.sent)
		}
	}
}

func (p *pair) post(h *host, body string) bool {
	return h.ask(p.token, fmt.Sprintf("text-%d", p.sent), "2s", body).Status == ipc.Sent
}

// ask makes a request and waits for its result, which has no Status if the host gives none.
func (h *host) ask(token, key, wait, body string) (r ipc.Result) {
	req, err := http.NewRequest(http.MethodPost, "http://"+h.remote+"/api/requests?wait="+wait, strings.NewReader(body))
	if err != nil {
		return r
	}
	for key, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Idempotency-Key": key} {
		req.Header.Set(key, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return r
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || json.Unmarshal(answer, &r) != nil {
		return ipc.Result{}
	}
	return r
}

// shown are the texts on the page of a host, in their order.
func (p *pair) shown(h *host) (all []string) {
	p.Helper()
	for before := ""; ; {
		var page struct{ Messages []history.Message }
		stage.Await(p, "the page of "+h.name, func() bool { // a busy one is asked again
			code, body := get("http://"+h.page+"/api/chats/quay/messages?limit=50&before="+before, "")
			return code == http.StatusOK && json.Unmarshal([]byte(body), &page) == nil
		})
		if len(page.Messages) == 0 {
			return all
		}
		var older []string
		for _, m := range page.Messages {
			older = append(older, m.Text)
		}
		all, before = append(older, all...), page.Messages[0].ID
	}
}

// whole fails the test unless the page shows each text once, in order.
func (p *pair) whole(h *host) {
	p.Helper()
	all := p.shown(h)
	for i, text := range all {
		if text != strconv.Itoa(i) {
			p.Fatalf("the page of %s shows %v: lost, twice or in another order", h.name, all)
		}
	}
	if len(all) != p.sent {
		p.Fatalf("the page of %s shows %d of %d texts", h.name, len(all), p.sent)
	}
}

// proxy is the way of a host to PostgreSQL. While it is deaf in a direction, it passes nothing on there and
// closes nothing.
type proxy struct {
	net.Listener
	to       string
	up, down atomic.Bool  // deaf to the host, and to the server
	slow     atomic.Int64 // a time.Duration: how long bytes are on their way
	trap     atomic.Pointer[trap]
}

// trap waits for what passes.
type trap struct {
	is func(passes passing) bool
	do func()
}

// passing is what passes on a connection, to the server or back.
type passing struct {
	conn  net.Conn // the host's
	up    bool
	bytes []byte
}

// next calls do before the next answer of that kind goes to the host.
func (p *proxy) next(is func(answer []byte) bool, do func()) {
	p.when(func(one passing) bool { return !one.up && is(one.bytes) }, do)
}

// when calls do before the next bytes of that kind pass.
func (p *proxy) when(is func(passing) bool, do func()) { p.trap.Store(&trap{is, do}) }

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", p.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			go p.pass(from, to, &p.up, func(b []byte) { p.sprung(passing{from, true, b}) })
			go p.pass(to, from, &p.down, func(b []byte) { p.sprung(passing{from, false, b}) })
		}
	}()
	return p
}

// sprung calls the trap, once, if it waits for this.
func (p *proxy) sprung(one passing) {
	if t := p.trap.Load(); t != nil && t.is(one) && p.trap.CompareAndSwap(t, nil) {
		t.do()
	}
}

func (p *proxy) port() int { return p.Addr().(*net.TCPAddr).Port }

func (p *proxy) pass(from, to net.Conn, deaf *atomic.Bool, before func([]byte)) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		before(buf[:n])
		time.Sleep(time.Duration(p.slow.Load()))
		for deaf.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}
