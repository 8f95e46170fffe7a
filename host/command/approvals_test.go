package command

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/member"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestAnOperatorSaysYesOrNo is the whole way: the assistant's file waits, the operator
// looks and answers by commands, and the assistant reads what became of it.
func TestAnOperatorSaysYesOrNo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	cfg := stage.ConfigIn(t, file, strings.Replace(stage.StoresConfig, "assistant: sample,", "assistant: sample, approve: {above: 3},", 1))
	e := &env{Terminal: terminal.Terminal{Config: file}, getenv: os.Getenv, platforms: stage.AllPlatforms()}
	h, err := serve.New(t.Context(), cfg, serve.Options{Log: slog.New(slog.DiscardHandler), File: configFile{e}})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage.Site{TB: t, Cfg: cfg}
	stop := s.RunHost(h)
	asked := func(args ...string) string {
		t.Helper()
		out, code := stage.Command(t, append([]string{"-c", file}, args...)...)
		if code != terminal.ExitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, out)
		}
		return out
	}
	stage.Eventually(t, "the host answers", func() bool {
		_, code := stage.Command(t, "-c", file, "reload")
		return code == terminal.ExitOK
	})
	send := func(name, content string) (id string) {
		t.Helper()
		stage.Write(t, filepath.Join(cfg.Layout().Workspace("family"), name), content)
		id, err := s.Client("family").Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name}}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	awaits := func(id string) string {
		t.Helper()
		var r ipc.Result
		stage.Eventually(t, "it waits for an approval", func() bool {
			r, _ = s.Client("family").Status(id)
			return r.Code == ipc.CodeAwaiting && r.Status == ipc.Queued
		})
		d, err := h.Outbox.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return d.Key[:12]
	}
	wanted, unwanted, small := send("wanted.txt", "take this"), send("unwanted.txt", "and this"), send("small.txt", "abc")
	if r := s.Result("family", small); r.Status != ipc.Sent {
		t.Errorf("a small file, which does not wait: %+v", r)
	}
	yes, no := awaits(wanted), awaits(unwanted)
	if list := asked("approvals", "list"); !strings.Contains(list, yes) || !strings.Contains(list, no) || !strings.Contains(list, "rule approve.above") {
		t.Errorf("the list:\n%s", list)
	}
	if status := asked("status"); !strings.Contains(status, "waiting for an approval: 2; see: longshore") {
		t.Errorf("status:\n%s", status)
	}
	if list := asked("queue", "list"); !strings.Contains(list, "waiting") {
		t.Errorf("the queue:\n%s", list)
	}
	if ids := asked("__complete", "approvals", "yes", ""); !strings.Contains(ids, yes) || !strings.Contains(ids, no) {
		t.Errorf("a shell suggests\n%s", ids)
	}
	if names := asked("__complete", "why", ""); !strings.Contains(names, "family") {
		t.Errorf("a shell suggests\n%s", names)
	}
	if names := asked("__complete", "queue", "list", "--group", ""); !strings.Contains(names, "family") {
		t.Errorf("a shell suggests\n%s", names)
	}
	stage.Write(t, filepath.Join(cfg.Layout().Workspace("family"), "wanted.txt"), "something else by now")
	asked("approvals", "yes", yes)
	want, _ := member.Sum(strings.NewReader("take this"))
	r := s.Result("family", wanted)
	if r.Status != ipc.Sent || r.Parts[0].SHA256 != want {
		t.Errorf("after a yes: %+v", r)
	}
	if out, code := stage.Command(t, "-c", file, "approvals", "no", yes); code == terminal.ExitOK || !strings.Contains(out, "waits for no answer") {
		t.Errorf("a no after the yes: exit code %d: %s", code, out)
	}
	asked("approvals", "no", no)
	if r := s.Result("family", unwanted); r.Status != ipc.Refused || r.Code != records.CodeNotApproved {
		t.Errorf("after a no: %+v", r)
	}
	if list := asked("approvals", "list"); !strings.Contains(list, "nothing waits") {
		t.Errorf("in the end:\n%s", list)
	}
	stage.Eventually(t, "the audit has both answers", func() bool {
		trail, code := stage.Command(t, "-c", file, "audit", "search", "--json")
		return code == terminal.ExitOK && strings.Contains(trail, `"approved"`) && strings.Contains(trail, `"not_approved"`)
	})
	late := send("late.txt", "while no host runs")
	id := awaits(late)
	stop()
	asked("approvals", "yes", id) // is recorded, and the next host sends it
	if d := asked("queue", "show", id); !strings.Contains(d, "queued") {
		t.Errorf("approved without a host:\n%s", d)
	}
}
