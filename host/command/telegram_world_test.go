package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// The chats of a dock: the group's, and the depot.
const (
	dockChat  = -1001
	dockDepot = -1002
)

// dock is a Bot API server, and a directory with a host for one chat of its bot. The
// host has no other channel.
type dock struct {
	t   testing.TB
	srv *telegramtest.Server
	dir string
}

// newDock has something in the channel's settings and in the group's entry.
func newDock(t testing.TB, srv *telegramtest.Server, settings, assistants, group string) *dock {
	t.Helper()
	d := &dock{t: t, srv: srv, dir: t.TempDir()}
	text := fmt.Sprintf("channels: {telegram: {token_file: bot, server: %q, rate: {per_minute: 60000, burst: 1000}%s}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Dock, folder: dock, chat: \"tg:%d\"%s}\n", srv.URL, settings, assistants, dockChat, group)
	for name, content := range map[string]string{"longshore.yaml": text, "bot": telegramtest.Token} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(d.dir, "longshore.yaml"), allPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dockHost is a host process.
type dockHost struct {
	d     *dock
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

func (d *dock) start() *dockHost {
	d.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	h := &dockHost{d: d, cmd: exec.Command(exe, "serve"), ended: make(chan struct{})}
	h.cmd.Dir = d.dir
	h.cmd.Env = append(os.Environ(), serveEnv+"=1")
	var log bytes.Buffer
	h.cmd.Stderr = &log
	if err := h.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		h.err = h.cmd.Wait()
	}()
	d.t.Cleanup(func() {
		h.kill()
		if d.t.Failed() {
			d.t.Logf("the host's log:\n%s", log.String())
		}
	})
	return h
}

// kill kills the host, and returns when it is no more.
func (h *dockHost) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.ended
}

func (h *dockHost) stop() {
	h.d.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	if <-h.ended; h.err != nil {
		h.d.t.Errorf("the host ended with %v", h.err)
	}
}

// file puts a file into the workspace, and returns its place in the container.
func (d *dock) file(name string, content []byte) string {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "state/groups/dock", name), content, 0o644); err != nil {
		d.t.Fatal(err)
	}
	return "/workspace/group/" + name
}

func (d *dock) client() *ipc.Client { return ipc.NewClient(filepath.Join(d.dir, "state/ipc/dock")) }

// ask writes a request as the assistant's container does.
func (d *dock) ask(r ipc.Request) (id string) {
	d.t.Helper()
	id, err := d.client().Enqueue(d.t.Context(), r)
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// result waits for the end of a request.
func (d *dock) result(id string) ipc.Result {
	d.t.Helper()
	res, err := d.client().Wait(soon(d.t), id, nil)
	if err != nil {
		d.t.Fatalf("request %s: %v; the result is %+v", id, err, res)
	}
	return res
}
