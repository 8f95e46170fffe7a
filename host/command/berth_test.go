package command

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

// berth is a directory with a host for one group of one channel.
type berth struct {
	t      testing.TB
	dir    string
	folder string   // the group's
	env    []string // of the program, beside the test's own
}

// newBerth makes the directory, with longshore.yaml and the secrets that it names as files.
func newBerth(t testing.TB, folder, text string, secrets map[string]string, env string) *berth {
	t.Helper()
	b := &berth{t: t, dir: t.TempDir(), folder: folder, env: []string{env}}
	secrets["longshore.yaml"] = text
	for name, content := range secrets {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(b.dir, "longshore.yaml"), allPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// command is the longshore program in the berth's directory.
func (b *berth) command(args ...string) *exec.Cmd {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), b.env...)
	return cmd
}

// berthHost is a host process.
type berthHost struct {
	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

func (b *berth) start() *berthHost {
	b.t.Helper()
	h := &berthHost{t: b.t, cmd: b.command("serve"), ended: make(chan struct{})}
	var log bytes.Buffer
	h.cmd.Stderr = &log
	if err := h.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		h.err = h.cmd.Wait()
	}()
	b.t.Cleanup(func() {
		h.kill()
		if b.t.Failed() {
			b.t.Logf("the host's log:\n%s", log.String())
		}
	})
	return h
}

// kill kills the host, and returns when it is no more.
func (h *berthHost) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.ended
}

func (h *berthHost) stop() {
	h.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	if <-h.ended; h.err != nil {
		h.t.Errorf("the host ended with %v", h.err)
	}
}

// file puts a file into the workspace, and returns its place in the container.
func (b *berth) file(name string, content []byte) string {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "state/groups", b.folder, name), content, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return "/workspace/group/" + name
}

func (b *berth) client() *ipc.Client {
	return ipc.NewClient(filepath.Join(b.dir, "state/ipc", b.folder))
}

// ask writes a request as the assistant's container does.
func (b *berth) ask(r ipc.Request) (id string) {
	b.t.Helper()
	id, err := b.client().Enqueue(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// result waits for the end of a request.
func (b *berth) result(id string) ipc.Result {
	b.t.Helper()
	res, err := b.client().Wait(soon(b.t), id, nil)
	if err != nil {
		b.t.Fatalf("request %s: %v; the result is %+v", id, err, res)
	}
	return res
}
