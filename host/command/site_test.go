package command

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

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
)

// patience is how long a test waits for what should come at once. It is wide
// because only a failing test ever waits that long.
const patience = 2 * time.Minute

// noLimits is the limits: of a site that is to be filled.
const noLimits = "{rate: {per_minute: 100000000, burst: 1000000}, pending: 1000000, free_disk: 1MiB}"

// site is a state directory with the groups g0, g1 and so on, each in the chat
// mem:g0, mem:g1.
type site struct {
	testing.TB
	dir     string
	cfg     *config.Config
	folders []string
	keys    string // further keys of its requests, as `,"results":"batch"`

	slack  *slacktest.Server // nil: the groups are on the page, or in mem
	chats  []string          // of the groups on Slack
	said   string            // by the host that the tracer ran last
	polled int               // messages there that a benchmark's floor has sent
}

// newSite makes the directories below dir, with limits as longshore.yaml has
// them.
func newSite(tb testing.TB, dir string, n int, limits string) *site {
	tb.Helper()
	s := &site{TB: tb, dir: dir}
	var b strings.Builder
	fmt.Fprintf(&b, "state: ./state\nlimits: %s\ngroups:\n", limits)
	for i := range n {
		s.folders = append(s.folders, fmt.Sprintf("g%d", i))
		fmt.Fprintf(&b, "  - {name: G%d, folder: g%d, chat: \"mem:g%d\"}\n", i, i, i)
	}
	cfg, err := config.Parse(filepath.Join(dir, "longshore.yaml"), []byte(b.String()), os.Getenv, allPlatforms())
	if err != nil {
		tb.Fatal(err)
	}
	s.cfg = cfg
	if err := cfg.Layout().Prepare(cfg.Groups); err != nil {
		tb.Fatal(err)
	}
	return s
}

// open makes a host on the given channels, and starts nothing.
func (s *site) open(trace func(folder, request, step string), channels ...channel.Channel) *serve.Host {
	s.Helper()
	h, err := serve.New(context.Background(), s.cfg, serve.Options{
		Log: newLog(errorsOf{s}, config.Log{Level: "error", Format: "text"}), Trace: trace,
		Channels: substitutes(channels...),
	})
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// substitutes has a host run with channels of a test: each carries the chats of
// its form, whatever longshore.yaml says.
func substitutes(channels ...channel.Channel) func(*config.Config, serve.Options) ([]channel.Channel, error) {
	return func(cfg *config.Config, _ serve.Options) ([]channel.Channel, error) {
		for i := range cfg.Groups {
			for _, c := range channels {
				if g := &cfg.Groups[i]; c.Owns(g.Chat) {
					g.Channel = c.Name()
				}
			}
		}
		return channels, nil
	}
}

// errorsOf shows the host's log with the test's.
type errorsOf struct{ testing.TB }

func (e errorsOf) Write(b []byte) (int, error) {
	e.Logf("host: %s", b)
	return len(b), nil
}

// start runs a host until stop is called, or until the test ends.
func (s *site) start(trace func(folder, request, step string), channels ...channel.Channel) (h *serve.Host, stop func()) {
	s.Helper()
	h = s.open(trace, channels...)
	return h, s.run(h)
}

func (s *site) run(h *serve.Host) (stop func()) {
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

func (s *site) messages(folder string) string {
	return s.cfg.Layout().IPC(folder, ipc.MessagesDir)
}

func (s *site) client(folder string) *ipc.Client {
	return ipc.NewClient(s.cfg.Layout().IPC(folder, ""))
}

// put renames a request into a group's queue, under a name that tells its
// place in the order. It is not synced.
func (s *site) put(folder string, i int) (id string) {
	s.Helper()
	id = fmt.Sprintf("%08d", i)
	s.place(folder, id+".json", fmt.Sprintf(`{"type":"message","text":%q%s}`, id, s.keys))
	return id
}

func (s *site) place(folder, name, body string) {
	s.Helper()
	tmp := filepath.Join(s.messages(folder), ".tmp")
	err := os.WriteFile(tmp, []byte(body), 0o644)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(s.messages(folder), name))
	}
	if err != nil {
		s.Fatal(err)
	}
}

// batch is what lies in a group's queue, for a bridge that is not run. After
// it was carried, end waits until it is unlinked, and fails if it is not.
func (s *site) batch(folder string) (_ *ipc.Batch, end func()) {
	s.Helper()
	spool := ipc.NewSpool(ipc.SpoolOptions{Dir: s.cfg.Layout().IPCDir(), Folders: []string{folder}, Poll: true})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- spool.Run(ctx) }()
	batch, err := spool.Next(ctx)
	if err != nil {
		s.Fatal(err)
	}
	return batch, func() {
		s.Helper()
		cancel()
		if err := errors.Join(<-ran, spool.Close()); err != nil {
			s.Fatal(err)
		}
		if left, err := os.ReadDir(s.messages(folder)); err != nil || len(left) > 0 {
			s.Fatalf("left in the queue: %v, %v", left, err)
		}
	}
}

// fill puts n requests into the groups' queues, in turn.
func (s *site) fill(n int) {
	s.Helper()
	for i := range n {
		s.put(s.folders[i%len(s.folders)], i)
	}
}

// result waits for a request's end.
func (s *site) result(folder, id string) ipc.Result {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := s.client(folder).Wait(ctx, id, nil)
	if err != nil || !r.Status.Final() {
		s.Fatalf("request %s of %s has no end: %+v, %v", id, folder, r, err)
	}
	return r
}

// noLeaks fails the test if it leaves a goroutine behind.
func noLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}
