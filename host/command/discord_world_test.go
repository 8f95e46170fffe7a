package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// discordEnv makes this test binary the longshore program whose Discord has the
// address that it holds. The released program has no such switch.
const discordEnv = "LONGSHORE_TEST_DISCORD"

func mainOnDiscord(api string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	platforms := []channel.Platform{discord.Platform(discord.Net{API: api})}
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, platforms: platforms}
	return e.run(ctx, os.Args[1:])
}

// pier is a Discord server, and a directory with a host for one of its channels. The
// host has no other channel.
type pier struct {
	t    testing.TB
	srv  *discordtest.Server
	chat string
	dir  string
}

// newPier has something in the channel's settings and in the group's entry.
func newPier(t testing.TB, srv *discordtest.Server, settings, assistants, group string) *pier {
	t.Helper()
	p := &pier{t: t, srv: srv, chat: srv.AddChannel("pier"), dir: t.TempDir()}
	text := fmt.Sprintf("channels: {discord: {bot_token_file: bot, rate: {per_minute: 60000, burst: 1000}%s}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Pier, folder: pier, chat: \"dc:%s\"%s}\n", settings, assistants, p.chat, group)
	for name, content := range map[string]string{"longshore.yaml": text, "bot": srv.Token} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(p.dir, "longshore.yaml"), allPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pierHost is a host process.
type pierHost struct {
	p     *pier
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// serve starts a host and waits until it is connected.
func (p *pier) serve() *pierHost {
	p.t.Helper()
	before := p.srv.Calls("identify")
	h := p.start()
	p.srv.Wait(p.t, "the host's session", func() bool { return p.srv.Calls("identify") > before })
	return h
}

func (p *pier) start() *pierHost {
	p.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	h := &pierHost{p: p, cmd: exec.Command(exe, "serve"), ended: make(chan struct{})}
	h.cmd.Dir = p.dir
	h.cmd.Env = append(os.Environ(), discordEnv+"="+p.srv.URL())
	var log bytes.Buffer
	h.cmd.Stderr = &log
	if err := h.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		h.err = h.cmd.Wait()
	}()
	p.t.Cleanup(func() {
		h.kill()
		if p.t.Failed() {
			p.t.Logf("the host's log:\n%s", log.String())
		}
	})
	return h
}

// kill kills the host, and returns when it is no more.
func (h *pierHost) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.ended
}

func (h *pierHost) stop() {
	h.p.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	if <-h.ended; h.err != nil {
		h.p.t.Errorf("the host ended with %v", h.err)
	}
}

// file puts a file into the workspace, and returns its place in the container.
func (p *pier) file(name string, content []byte) string {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "state/groups/pier", name), content, 0o644); err != nil {
		p.t.Fatal(err)
	}
	return "/workspace/group/" + name
}

func (p *pier) client() *ipc.Client { return ipc.NewClient(filepath.Join(p.dir, "state/ipc/pier")) }

// ask writes a request as the assistant's container does.
func (p *pier) ask(r ipc.Request) (id string) {
	p.t.Helper()
	id, err := p.client().Enqueue(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// result waits for the end of a request.
func (p *pier) result(id string) ipc.Result {
	p.t.Helper()
	res, err := p.client().Wait(soon(p.t), id, nil)
	if err != nil {
		p.t.Fatalf("request %s: %v; the result is %+v", id, err, res)
	}
	return res
}
