//go:build e2e

package stage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Load is what the benchmarks of a whole host send: texts, or files.
type Load struct {
	Name string
	Size int // bytes of a file; 0: texts
}

// ServeCommand is "longshore serve" on the site's configuration.
func (s *Site) ServeCommand() *exec.Cmd {
	host := exec.Command(os.Args[0], "serve", "-c", filepath.Join(s.Dir, "longshore.yaml"))
	host.Env = append(os.Environ(), ServeEnv+"=1")
	if s.Slack != nil {
		host.Env = append(os.Environ(), SlackEnv+"="+s.Slack.URL())
	}
	return host
}

// Kill may be called again.
func (s *Site) Kill(host *exec.Cmd) {
	_ = host.Process.Kill()
	_ = host.Wait()
}

// WholeDrain is what a drain took and used.
type WholeDrain struct {
	Took, Processor time.Duration
	Written, Peak   int64 // bytes; the most memory
}

// ServeOnPage returns once the page has its address. The host ends with the test.
func (s *Site) ServeOnPage() (host *exec.Cmd, url string) {
	s.Helper()
	host = s.ServeCommand()
	out, err := host.StderrPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.Kill(host) })
	for said := bufio.NewScanner(out); said.Scan(); {
		if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(said.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return host, url
		}
	}
	s.Fatal("the host names no page")
	return nil, ""
}

// Sink is a channel that does nothing but tell when it was called: what the
// benchmarks measure is all before and behind it. It holds so many calls as it
// was made for.
type Sink struct {
	Called chan Arrival
	Hang   func(chat groups.JID) <-chan struct{} // nil, or what Send waits for
	Later  func(chat groups.JID) bool            // nil, or whose sends fail for now
}

type Arrival struct {
	At   time.Time
	text string
	Chat groups.JID
}

func NewSink(calls int) *Sink { return &Sink{Called: make(chan Arrival, calls)} }

func (s *Sink) Name() string { return "mem" }

func (s *Sink) Owns(chat groups.JID) bool { return chat.Channel() == "mem" }

func (s *Sink) Limits() media.Limits { return media.DefaultLimits() }

func (s *Sink) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

func (s *Sink) Run(ctx context.Context, _ channel.Inbox) error {
	<-ctx.Done()
	return nil
}

func (s *Sink) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	s.Called <- Arrival{time.Now(), m.Text, m.Chat}
	if s.Later != nil && s.Later(m.Chat) {
		return channel.Receipt{}, &channel.Error{Message: "later", RetryAfter: time.Hour}
	}
	if s.Hang != nil {
		select {
		case <-s.Hang(m.Chat):
		case <-ctx.Done():
			return channel.Receipt{}, ctx.Err()
		}
	}
	return channel.Receipt{ID: m.ID, Time: time.Now()}, nil
}

// Poller is the durable poller: one loop that reads, parses and unlinks the
// requests, calls the same channel, writes a result's file for each, and appends a
// line to a log with fdatasync before and after the call. It checks nothing, retries
// nothing and does not recover.
type Poller struct {
	*Site
	B       *testing.B
	Channel channel.Channel
	Log     *os.File
	Dir     string // of its own
	N       int
	Close   func()
}

// NewPageSite is a site on the page, with its configuration in a file.
func NewPageSite(b testing.TB, dir string, n int) *Site {
	b.Helper()
	s := NewSite(b, dir, n, NoLimits)
	text := strings.Builder{}
	fmt.Fprintf(&text, "limits: %s\nchannels: {web: {listen: \"127.0.0.1:0\"}}\ngroups:\n", NoLimits)
	for _, folder := range s.Folders {
		fmt.Fprintf(&text, "  - {name: %s, folder: %s, chat: \"web:%s\"}\n", folder, folder, folder)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "longshore.yaml"), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return s
}
