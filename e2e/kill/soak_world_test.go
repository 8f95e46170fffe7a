package kill

import (
	"bytes"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// soak is a host of twenty groups on three channels, with what their assistants have
// asked for. One more group has a task, and one comes and goes with reloads.
type soak struct {
	testing.TB
	dir    string
	cfg    *config.Config
	slack  *slacktest.Server
	tg     *telegramtest.Server
	groups []*soakGroup

	approve string // the groups' approve in longshore.yaml; empty: nothing waits

	mu      sync.Mutex // of the host, which is killed and started, and of answers
	host    *exec.Cmd
	answers map[string]bool // by folder and request: what the operator said, yes or no
	log     lastLines
}

// soakGroup is one group. Only its writer uses asked, until the writer has ended.
type soakGroup struct {
	folder, chat, channel string
	asked                 []soakAsk
	random                *rand.Rand
}

// soakAsk is a request and what a member is to see of it, or the code that refuses it.
type soakAsk struct {
	id    string
	parts []string // SHA-256 of each, in order
	bytes int64
	files []string // on the disk
	code  string
	waits bool // for an approval
	yes   bool // what the operator said to it
	got   ipc.Result
	found bool // members see it after the approval, whole
}

const (
	soakGroups = 20
	soakOpen   = 4       // requests of a group that have no result yet
	soakAbove  = 1 << 20 // bytes: a larger file waits for an approval
)

// newSoak has larger files wait for an approval if asks.
func newSoak(tb testing.TB, seed uint64, asks bool) *soak {
	tb.Helper()
	s := &soak{TB: tb, dir: tb.TempDir(), slack: slacktest.New(tb), answers: map[string]bool{}}
	if asks {
		s.approve = fmt.Sprintf(", approve: {above: %d}", soakAbove)
	}
	var telegram []int64
	for i := range soakGroups {
		g := &soakGroup{folder: fmt.Sprintf("g%d", i), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		switch i % 3 {
		case 0:
			g.channel, g.chat = "web", "web:"+g.folder
		case 1:
			g.channel, g.chat = "slack", "slack:"+s.slack.AddChannel(slacktest.Public, g.folder)
		default:
			telegram = append(telegram, -1000-int64(i))
			g.channel, g.chat = "telegram", fmt.Sprintf("tg:%d", -1000-i)
		}
		s.groups = append(s.groups, g)
	}
	s.tg = telegramtest.New(tb, telegram...)
	s.configure(0)
	for name, content := range map[string]string{"bot": s.slack.BotToken, "app": s.slack.AppToken, "tg": telegramtest.Token} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	cfg, err := config.Load(s.file(), stage.AllPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err != nil {
		tb.Fatal(err)
	}
	s.cfg = cfg
	return s
}

func (s *soak) file() string { return filepath.Join(s.dir, "longshore.yaml") }

// configure writes the nth configuration: every second one has a group more, and each
// another allowance.
func (s *soak) configure(n int) {
	s.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `channels:
  web: {listen: "127.0.0.1:0"}
  slack: {bot_token_file: bot, app_token_file: app, rate: {per_minute: 600000, burst: 10000}}
  telegram: {token_file: tg, server: %q, rate: {per_minute: 600000, burst: 10000}}
operator_page: {listen: "127.0.0.1:0"}
limits: {free_disk: 1MB, rate: {per_minute: %d, burst: 100000}}
assistants: {sample: {runtime: process, agent: sample}}
groups:
  - {name: Plan, folder: plan, chat: "web:plan", assistant: sample, gather: {after: 0s}}
`, s.tg.URL, 1_000_000+n)
	if n%2 == 1 {
		fmt.Fprintln(&text, `  - {name: Guest, folder: guest, chat: "web:guest"}`)
	}
	for _, g := range s.groups {
		fmt.Fprintf(&text, "  - {name: %s, folder: %s, chat: %q%s}\n", g.folder, g.folder, g.chat, s.approve)
	}
	whole := filepath.Join(s.dir, "next.yaml")
	if err := os.WriteFile(whole, []byte(text.String()), 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Rename(whole, s.file()); err != nil {
		s.Fatal(err)
	}
}

// start starts a host and waits until it answers on its control socket.
func (s *soak) start() {
	s.Helper()
	host := exec.Command(os.Args[0], "serve", "-c", s.file())
	host.Env = append(os.Environ(), stage.SlackEnv+"="+s.slack.URL())
	host.Stderr = &s.log
	s.mu.Lock()
	err := host.Start()
	s.host = host
	s.mu.Unlock()
	if err != nil {
		s.Fatal(err)
	}
	deadline := time.Now().Add(stage.Patience)
	for s.operator().Health(s.Context()) != nil {
		if time.Now().After(deadline) {
			s.Fatal("the host does not answer")
		}
		s.pause(10 * time.Millisecond)
	}
}

// kill kills the host, if it runs, and starts the next one.
func (s *soak) kill() {
	s.Helper()
	s.end()
	s.start()
}

// end kills the host.
func (s *soak) end() {
	if s.host != nil {
		_ = s.host.Process.Kill() // it may have ended
		_ = s.host.Wait()
	}
}

// stop ends the host as an operator does.
func (s *soak) stop() {
	s.Helper()
	_ = s.host.Process.Signal(syscall.SIGTERM)
	if err := s.host.Wait(); err != nil {
		s.Errorf("the host ended with %v", err)
	}
}

func (s *soak) operator() *operator.Client {
	return operator.NewClient(operator.ControlDir(s.cfg.Layout()))
}

func (s *soak) client(g *soakGroup) *ipc.Client {
	return ipc.NewClient(filepath.Dir(s.cfg.Layout().IPC(g.folder, ipc.MessagesDir)))
}

// pause waits, and says whether the soak goes on.
func (s *soak) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.Context().Done():
		return false
	}
}

// ended waits for the result of a request, and removes its files.
func (s *soak) ended(g *soakGroup, i int) bool {
	a := &g.asked[i]
	client := s.client(g)
	for deadline := time.Now().Add(stage.Patience); a.got.ID == ""; {
		if r, err := client.Status(a.id); err == nil && r.Status.Final() {
			a.got = r
		} else if time.Now().After(deadline) || !s.pause(20*time.Millisecond) {
			s.Errorf("%s: request %d (%s) has no end: %+v, %v", g.folder, i, a.id, r, err)
			return false
		}
	}
	for _, f := range a.files {
		if err := os.Remove(f); err != nil {
			s.Error(err)
		}
	}
	a.files = nil
	return true
}

// place writes a file into the workspace and names it in the request.
func (s *soak) place(g *soakGroup, a *soakAsk, r *ipc.Request, name string, content []byte) error {
	path := filepath.Join(s.cfg.Layout().Workspace(g.folder), name)
	a.files, a.parts, a.bytes = append(a.files, path), append(a.parts, stage.Digest(content)), a.bytes+int64(len(content))
	a.waits = a.waits || s.approve != "" && len(content) > soakAbove
	r.Files = append(r.Files, ipc.FileRef{Path: "/workspace/group/" + name})
	return os.WriteFile(path, content, 0o644)
}

// content is a file's: most are small, some large.
func (g *soakGroup) content() []byte {
	size := 1 + g.random.IntN(16<<10)
	switch lot := g.random.IntN(100); {
	case lot < 3:
		size += 1 << 20
	case lot < 20:
		size *= 8
	}
	content := make([]byte, size)
	_, _ = crand.Read(content) // never fails
	return content
}

// lastLines keeps the end of a log.
type lastLines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *lastLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all.Len() > 1<<20 {
		l.all.Next(l.all.Len() - 1<<19)
	}
	return l.all.Write(b)
}
