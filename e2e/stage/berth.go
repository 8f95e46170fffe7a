package stage

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// Berth is a directory with a host for one group of one channel.
type Berth struct {
	T      testing.TB
	Dir    string
	Folder string   // the group's
	Env    []string // of the program, beside the test's own
}

// NewBerth makes the directory, with longshore.yaml and the secrets that it names as files.
func NewBerth(t testing.TB, folder, text string, secrets map[string]string, env string) *Berth {
	t.Helper()
	b := &Berth{T: t, Dir: t.TempDir(), Folder: folder, Env: []string{env}}
	secrets["longshore.yaml"] = text
	for name, content := range secrets {
		if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(b.Dir, "longshore.yaml"), AllPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Command is the longshore program in the berth's directory.
func (b *Berth) Command(args ...string) *exec.Cmd {
	b.T.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.T.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = b.Dir
	cmd.Env = append(os.Environ(), b.Env...)
	return cmd
}

// BerthHost is a host process.
type BerthHost struct {
	t     testing.TB
	Cmd   *exec.Cmd
	Ended chan struct{}
	err   error
}

// Start runs "longshore serve" in the berth's directory.
func (b *Berth) Start() *BerthHost {
	b.T.Helper()
	h := &BerthHost{t: b.T, Cmd: b.Command("serve"), Ended: make(chan struct{})}
	var log bytes.Buffer
	h.Cmd.Stderr = &log
	if err := h.Cmd.Start(); err != nil {
		b.T.Fatal(err)
	}
	go func() {
		defer close(h.Ended)
		h.err = h.Cmd.Wait()
	}()
	b.T.Cleanup(func() {
		h.Kill()
		if b.T.Failed() {
			b.T.Logf("the host's log:\n%s", log.String())
		}
	})
	return h
}

// Kill kills the host, and returns when it is no more.
func (h *BerthHost) Kill() {
	_ = h.Cmd.Process.Kill() // it may have ended
	<-h.Ended
}

// Stop ends the host by SIGTERM, and fails the test if it does not end well.
func (h *BerthHost) Stop() {
	h.t.Helper()
	_ = h.Cmd.Process.Signal(syscall.SIGTERM)
	if <-h.Ended; h.err != nil {
		h.t.Errorf("the host ended with %v", h.err)
	}
}

// File puts a file into the workspace, and returns its place in the container.
func (b *Berth) File(name string, content []byte) string {
	b.T.Helper()
	if err := os.WriteFile(filepath.Join(b.Dir, "state/groups", b.Folder, name), content, 0o644); err != nil {
		b.T.Fatal(err)
	}
	return "/workspace/group/" + name
}

func (b *Berth) client() *ipc.Client {
	return ipc.NewClient(filepath.Join(b.Dir, "state/ipc", b.Folder))
}

// Ask writes a request as the assistant's container does.
func (b *Berth) Ask(r ipc.Request) (id string) {
	b.T.Helper()
	id, err := b.client().Enqueue(b.T.Context(), r)
	if err != nil {
		b.T.Fatal(err)
	}
	return id
}

// Result waits for the end of a request.
func (b *Berth) Result(id string) ipc.Result {
	b.T.Helper()
	res, err := b.client().Wait(Soon(b.T), id, nil)
	if err != nil {
		b.T.Fatalf("request %s: %v; the result is %+v", id, err, res)
	}
	return res
}
