package stage

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
)

// Registering is a configuration whose main group may register others.
const Registering = `
channels: {web: {listen: "%LISTEN%"}}
assistants:
  echo: {agent: command, command: [cat]}
groups:
  - {name: Main, folder: main, chat: "web:main", main: true, assistant: echo, gather: {after: 0s}}
  # the family's own
  - name: Family
    folder: family
    chat: "web:family"
    assistant: echo
register:
  chats: ["web:dock", "web:boat-*"]
  most: 4
`

// Changing is a host that runs as "longshore serve" does, in this process, and
// whose longshore.yaml changes.
type Changing struct {
	ChatPage
	File   string
	Listen string
	Layout groups.Layout
	Client *operator.Client
}

// NewChanging runs a host with that configuration until the test ends. The page's
// address stands for %LISTEN%.
func NewChanging(t *testing.T, text string) *Changing {
	t.Helper()
	return NewChangingWith(t, func(string) string { return text })
}

// NewChangingWith is NewChanging with a configuration that is made for its directory.
func NewChangingWith(t *testing.T, text func(dir string) string) *Changing {
	t.Helper()
	listen := FreeAddress(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &Changing{
		ChatPage: ChatPage{T: t, Base: "http://" + listen}, Listen: listen,
		File: filepath.Join(dir, "longshore.yaml"), Layout: groups.Layout{State: filepath.Join(dir, "state")},
	}
	h.Client = operator.NewClient(operator.ControlDir(h.Layout))
	h.Write(text(dir))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	var log bytes.Buffer
	go func() {
		ended <- program.Run(ctx, "", AllPlatforms(), []string{"-c", h.File, "serve"}, nil, io.Discard, &log)
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != ExitOK {
			t.Errorf("the host ended with %d:\n%s", code, &log)
		}
		if t.Failed() {
			t.Logf("the host's log:\n%s", &log)
		}
	})
	h.Until("the host runs", func() bool {
		s, err := h.Client.Status(ctx)
		return err == nil && s.Running && Ready(s, nil)
	})
	return h
}

// Write writes longshore.yaml; %LISTEN% is the page's address.
func (h *Changing) Write(text string) {
	h.T.Helper()
	if err := os.WriteFile(h.File, []byte(strings.ReplaceAll(text, "%LISTEN%", h.Listen)), 0o600); err != nil {
		h.T.Fatal(err)
	}
}

// Reload changes the file and has the host take it up, also if that ends groups.
func (h *Changing) Reload(text string) operator.Reloaded {
	h.T.Helper()
	h.Write(text)
	r, err := h.Client.Reload(context.Background(), true)
	if err != nil || len(r.Problems) > 0 {
		h.T.Fatalf("not reloaded: %v\n%s", err, strings.Join(r.Problems, "\n"))
	}
	return r
}

// Until waits for a condition that another process or goroutine brings about.
func (h *Changing) Until(what string, is func() bool) {
	h.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			h.T.Fatalf("in vain: %s", what)
		}
	}
}

// Texts are what the assistant wrote in a chat.
func (h *Changing) Texts(chat string) (all []string) {
	h.T.Helper()
	for _, m := range h.Messages(chat) {
		if m.Assistant && m.File == nil {
			all = append(all, m.Text)
		}
	}
	return all
}
