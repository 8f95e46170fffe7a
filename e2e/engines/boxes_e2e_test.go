//go:build e2e

package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/serve"
)

// boxes is an installation whose assistants run in containers.
type boxes struct {
	testing.TB
	file   string // longshore.yaml
	base   string // the page
	engine string // as DOCKER_HOST has it
	api    *client.Client
}

// newBoxes writes a configuration with n groups g0, g1 … whose assistant is
// the sample in a container, and at most three of which run.
func newBoxes(t testing.TB, n int) *boxes {
	t.Helper()
	return newBoxesOf(t, n, fmt.Sprintf("{runtime: docker, agent: sample, image: %q, network: none, memory: 64MiB}", containertest.AgentImage(t, "none")))
}

// newBoxesOf is newBoxes with an assistant as the configuration has it.
func newBoxesOf(t testing.TB, n int, assistant string) *boxes {
	t.Helper()
	_, engine := containertest.Engine(t)
	return newBoxesOn(t, engine, n, assistant)
}

// newBoxesOn is newBoxesOf on the engine that listens there.
func newBoxesOn(t testing.TB, engine string, n int, assistant string) *boxes {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "state: ./state\nlimits: {assistants: 3, free_disk: 1MiB}\nchannels: {web: {listen: %q}}\n", port.Addr())
	fmt.Fprintf(&b, "assistants:\n  boxed: %s\ngroups:\n", assistant)
	for i := range n {
		fmt.Fprintf(&b, "  - {folder: g%d, chat: \"web:g%d\", assistant: boxed, gather: {after: 0s}}\n", i, i)
	}
	h := &boxes{TB: t, file: filepath.Join(dir, "longshore.yaml"), base: "http://" + port.Addr().String(), engine: engine}
	if err := os.WriteFile(h.file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if h.api, err = client.New(client.WithHost(engine)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.api.Close() })
	return h
}

func (h *boxes) getenv(name string) string {
	if name == "DOCKER_HOST" {
		return h.engine
	}
	return ""
}

// open makes a host in this process, whose errors fail the test.
func (h *boxes) open() *serve.Host {
	h.Helper()
	return h.openWith(stage.NewLog(stage.ErrorsOf{TB: h.TB}, config.Log{Level: "warn", Format: "text"}))
}

func (h *boxes) openWith(log *slog.Logger) *serve.Host {
	h.Helper()
	cfg, err := config.Load(h.file, stage.AllPlatforms())
	if err != nil {
		h.Fatal(err)
	}
	opened, err := serve.New(h.Context(), cfg, serve.Options{Log: log, Getenv: h.getenv})
	if err != nil {
		h.Fatal(err)
	}
	return opened
}

// running lists the groups whose containers run.
func (h *boxes) running() (folders []string) {
	h.Helper()
	found, err := h.api.ContainerList(context.Background(), client.ContainerListOptions{Filters: client.Filters{}.Add("label", "longshore.group")})
	if err != nil {
		h.Fatal(err)
	}
	for _, c := range found.Items {
		folders = append(folders, c.Labels["longshore.group"])
	}
	slices.Sort(folders)
	return folders
}

// runHost runs a host until stop, which closes it too.
func (h *boxes) runHost(opened *serve.Host) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- opened.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, opened.Close())
	}
}

// say writes to the chat as soon as the page is there.
func (h *boxes) say(m stage.Member, text string) (id string) {
	h.Helper()
	deadline := time.Now().Add(stage.Patience)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		id, err := m.Say(h.Context(), text)
		if err == nil {
			tick.Stop()
			return id
		}
		if time.Now().After(deadline) {
			h.Fatalf("write to %s: %v", m.Chat, err)
		}
	}
}

// answered waits for the assistant's first words after the message.
func (h *boxes) answered(m stage.Member, asked string) { h.Helper(); h.answeredWith(m, asked, "") }

// answeredWith waits for words of the assistant's that hold the given ones.
func (h *boxes) answeredWith(m stage.Member, asked, words string) {
	h.Helper()
	deadline := time.Now().Add(stage.Patience)
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		var page struct{ Messages []history.Message }
		err := m.Call(h.Context(), "GET", m.Messages()+"?after="+asked, nil, &page)
		if err == nil && slices.ContainsFunc(page.Messages, func(msg history.Message) bool {
			return msg.Assistant && msg.File == nil && strings.Contains(msg.Text, words)
		}) {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			h.Errorf("%s has no answer: %v", m.Chat, err)
			return
		}
	}
}

// serve runs "longshore serve" as a process of its own.
func (h *boxes) serve() (*exec.Cmd, *bytes.Buffer) {
	h.Helper()
	cmd := exec.Command(os.Args[0], "serve", "-c", h.file)
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+h.engine)
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd, log
}

// doctor is what the command says, without its columns.
func (h *boxes) doctor() string {
	h.Helper()
	cmd := exec.Command(os.Args[0], "doctor", "-c", h.file)
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+h.engine)
	said, _ := cmd.CombinedOutput() // what it says is looked at
	return strings.Join(strings.Fields(string(said)), " ")
}

// heard is what a chat has heard from its assistant and the host: texts, and
// the names of files.
func (h *boxes) heard(m stage.Member) (all []string) {
	h.Helper()
	var page struct{ Messages []history.Message }
	if err := m.Call(h.Context(), "GET", m.Messages(), nil, &page); err != nil {
		h.Fatal(err)
	}
	for _, msg := range page.Messages {
		switch {
		case msg.File != nil:
			all = append(all, msg.File.Name)
		case msg.Assistant:
			all = append(all, strings.TrimSpace(msg.Text))
		}
	}
	return all
}
