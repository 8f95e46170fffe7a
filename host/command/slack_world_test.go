package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// slackEnv makes this test binary the longshore program whose Slack has the
// address that it holds. The released program has no such switch.
const slackEnv = "LONGSHORE_TEST_SLACK"

func mainOnSlack(api string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, platforms: platformsOver(whatsapp.Net{}, slack.Net{API: api})}
	return e.run(ctx, os.Args[1:])
}

// quay is a Slack workspace, and a directory with a host for one of its chats. The
// host has no other channel.
type quay struct {
	t    testing.TB
	srv  *slacktest.Server
	chat string
	dir  string
	env  []string // of the host
}

// newQuay has something in the group's entry, such as its assistant.
func newQuay(t testing.TB, srv *slacktest.Server, chat, assistants, group string) *quay {
	t.Helper()
	q := &quay{t: t, srv: srv, chat: chat, dir: t.TempDir()}
	text := fmt.Sprintf("channels: {slack: {bot_token_file: bot, app_token_file: app, rate: {per_minute: 60000, burst: 1000}}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Quay, folder: quay, chat: \"slack:%s\"%s}\n", assistants, chat, group)
	for name, content := range map[string]string{"longshore.yaml": text, "bot": srv.BotToken, "app": srv.AppToken} {
		if err := os.WriteFile(filepath.Join(q.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(q.dir, "longshore.yaml"), allPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// command is the longshore program in the quay's directory.
func (q *quay) command(args ...string) *exec.Cmd {
	q.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		q.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = q.dir
	cmd.Env = append(append(os.Environ(), slackEnv+"="+q.srv.URL()), q.env...)
	return cmd
}

// slackHost is a host process.
type slackHost struct {
	q     *quay
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// serve starts a host and waits until it is connected.
func (q *quay) serve() *slackHost {
	q.t.Helper()
	h := q.start()
	q.srv.Wait(q.t, "the host's connection", func() bool { return q.srv.Connections() > 0 })
	return h
}

func (q *quay) start() *slackHost {
	q.t.Helper()
	h := &slackHost{q: q, cmd: q.command("serve"), ended: make(chan struct{})}
	var log bytes.Buffer
	h.cmd.Stderr = &log
	if err := h.cmd.Start(); err != nil {
		q.t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		h.err = h.cmd.Wait()
	}()
	q.t.Cleanup(func() {
		h.kill()
		if q.t.Failed() {
			q.t.Logf("the host's log:\n%s", log.String())
		}
	})
	return h
}

// kill kills the host, and returns when it is no more.
func (h *slackHost) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.ended
}

func (h *slackHost) stop() {
	h.q.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	if <-h.ended; h.err != nil {
		h.q.t.Errorf("the host ended with %v", h.err)
	}
}

// file puts a file into the workspace, and returns its place in the container.
func (q *quay) file(name string, content []byte) string {
	q.t.Helper()
	if err := os.WriteFile(filepath.Join(q.dir, "state/groups/quay", name), content, 0o644); err != nil {
		q.t.Fatal(err)
	}
	return "/workspace/group/" + name
}

// ask writes a request as the assistant's container does.
func (q *quay) ask(r ipc.Request) (id string) {
	q.t.Helper()
	id, err := ipc.NewClient(filepath.Join(q.dir, "state/ipc/quay")).Enqueue(q.t.Context(), r)
	if err != nil {
		q.t.Fatal(err)
	}
	return id
}

// result waits for the end of a request.
func (q *quay) result(id string) ipc.Result {
	q.t.Helper()
	res, err := ipc.NewClient(filepath.Join(q.dir, "state/ipc/quay")).Wait(soon(q.t), id, nil)
	if err != nil {
		q.t.Fatalf("request %s: %v; the result is %+v", id, err, res)
	}
	return res
}

// notes are those of all files of a result, and of its text.
func notes(r ipc.Result) string {
	var all []string
	for _, p := range r.Parts {
		all = append(all, p.Note)
	}
	return strings.Join(all, "\n")
}
