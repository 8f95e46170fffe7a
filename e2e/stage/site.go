package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
)

// Trail is what the audit trail says of a request, in its order.
func (s *Site) Trail(request string) (events []string) {
	_ = audit.Search(context.Background(), audit.Files(s.Cfg.Layout().Audit()), func(e audit.Entry) error {
		if e.Request == request {
			events = append(events, e.Event)
		}
		return nil
	})
	return events
}

// Patience is how long a test waits for what should come at once. It is wide
// because only a failing test ever waits that long.
const Patience = 2 * time.Minute

// NoLimits is the limits: of a site that is to be filled.
const NoLimits = "{rate: {per_minute: 100000000, burst: 1000000}, pending: 1000000, free_disk: 1MiB}"

// Site is a state directory with the groups g0, g1 and so on, each in the chat
// mem:g0, mem:g1.
type Site struct {
	testing.TB
	Dir     string
	Cfg     *config.Config
	Folders []string
	Keys    string // further keys of its requests, as `,"results":"batch"`

	Slack  *slacktest.Server // nil: the groups are on the page, or in mem
	Chats  []string          // of the groups on Slack
	Said   string            // by the host that the tracer ran last
	Polled int               // messages there that a benchmark's floor has sent
}

// NewSite makes the directories below dir, with limits as longshore.yaml has
// them.
func NewSite(tb testing.TB, dir string, n int, limits string) *Site {
	tb.Helper()
	s := &Site{TB: tb, Dir: dir}
	var b strings.Builder
	fmt.Fprintf(&b, "state: ./state\nlimits: %s\ngroups:\n", limits)
	for i := range n {
		s.Folders = append(s.Folders, fmt.Sprintf("g%d", i))
		fmt.Fprintf(&b, "  - {name: G%d, folder: g%d, chat: \"mem:g%d\"}\n", i, i, i)
	}
	cfg, err := config.Parse(filepath.Join(dir, "longshore.yaml"), []byte(b.String()), os.Getenv, AllPlatforms())
	if err != nil {
		tb.Fatal(err)
	}
	s.Cfg = cfg
	if err := cfg.Layout().Prepare(cfg.Groups); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Open makes a host on the given channels, and starts nothing.
func (s *Site) Open(trace func(folder, request, step string), channels ...channel.Channel) *serve.Host {
	s.Helper()
	h, err := serve.New(context.Background(), s.Cfg, serve.Options{
		Log: NewLog(ErrorsOf{s}, config.Log{Level: "error", Format: "text"}), Trace: trace,
		Channels: Substitutes(s.Cfg, channels...),
	})
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// Substitutes has a host run with channels of a test: each carries the chats of
// its form, whatever longshore.yaml says.
func Substitutes(cfg *config.Config, channels ...channel.Channel) []channel.Channel {
	for i := range cfg.Groups {
		for _, c := range channels {
			if g := &cfg.Groups[i]; c.Owns(g.Chat) {
				g.Channel = c.Name()
			}
		}
	}
	return channels
}

// ErrorsOf shows the host's log with the test's.
type ErrorsOf struct{ testing.TB }

func (e ErrorsOf) Write(b []byte) (int, error) {
	e.Logf("host: %s", b)
	return len(b), nil
}

// Start runs a host until stop is called, or until the test ends.
func (s *Site) Start(trace func(folder, request, step string), channels ...channel.Channel) (h *serve.Host, stop func()) {
	s.Helper()
	h = s.Open(trace, channels...)
	return h, s.RunHost(h)
}

// RunHost runs a host until stop is called, which closes it too.
func (s *Site) RunHost(h *serve.Host) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			s.Errorf("the host ended: %v", err)
		}
	})
	s.Cleanup(stop)
	return stop
}

// Messages is the group's queue directory.
func (s *Site) Messages(folder string) string {
	return s.Cfg.Layout().IPC(folder, ipc.MessagesDir)
}

// Client is the group's end of the queue.
func (s *Site) Client(folder string) *ipc.Client {
	return ipc.NewClient(s.Cfg.Layout().IPC(folder, ""))
}

// Put renames a request into a group's queue, under a name that tells its
// place in the order. It is not synced.
func (s *Site) Put(folder string, i int) (id string) {
	s.Helper()
	id = fmt.Sprintf("%08d", i)
	s.Place(folder, id+".json", fmt.Sprintf(`{"type":"message","text":%q%s}`, id, s.Keys))
	return id
}

// Place renames a finished file into a group's queue.
func (s *Site) Place(folder, name, body string) {
	s.Helper()
	tmp := filepath.Join(s.Messages(folder), ".tmp")
	err := os.WriteFile(tmp, []byte(body), 0o644)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(s.Messages(folder), name))
	}
	if err != nil {
		s.Fatal(err)
	}
}

// Fill puts n requests into the groups' queues, in turn.
func (s *Site) Fill(n int) {
	s.Helper()
	for i := range n {
		s.Put(s.Folders[i%len(s.Folders)], i)
	}
}

// Result waits for a request's end.
func (s *Site) Result(folder, id string) ipc.Result {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	r, err := s.Client(folder).Wait(ctx, id, nil)
	if err != nil || !r.Status.Final() {
		s.Fatalf("request %s of %s has no end: %+v, %v", id, folder, r, err)
	}
	return r
}
