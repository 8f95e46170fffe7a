//go:build e2e

package driver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/agent/driver"
	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
)

// agentrunner builds the program whose tools the CLIs start.
func agentrunner(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) { // shared by tests, which is what a process-wide value is for
	path := filepath.Join(os.Getenv(binDir), "agentrunner")
	out, err := exec.Command("go", "build", "-o", path, "github.com/longshore-bridge/longshore/agentrunner").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return path, err
})

// world is an assistant's surroundings: the fake host, the model on loopback,
// and one of the real CLIs.
type world struct {
	host  *fakehost.Host
	model *modeltest.Server
	log   *bytes.Buffer
	agent *driver.Driver
	mark  string
}

func newWorld(t *testing.T, cli string, script modeltest.Script) *world {
	t.Helper()
	return newWorldWith(t, cli, script, []string{agentrunner(t), "mcp"})
}

// newWorldWith is newWorld with another server of tools.
func newWorldWith(t *testing.T, cli string, script modeltest.Script, tools []string) *world {
	t.Helper()
	w := &world{host: fakehost.New(t, fakehost.Sent), model: modeltest.New(t, script), log: &bytes.Buffer{}}
	program, dir := modeltest.Install(t, cli), filepath.Join(w.host.Root, "group")
	w.host.File("group/AGENTS.md", "Speak like the harbour master of Visby.")
	w.mark = "LONGSHORE_SESSION=" + t.Name() + w.model.URL
	var err error
	w.agent, err = driver.New(cli, driver.Options{Program: program, Tools: tools,
		Home: filepath.Join(w.host.Root, "home"), Dir: dir, Log: slog.New(slog.NewTextHandler(w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) turn(ctx context.Context, prompt, session string, env ...string) (agent.Reply, error) {
	return w.agent.Turn(ctx, agent.Turn{Prompt: prompt, Session: session, Env: append(w.env(), env...)})
}

func (w *world) env() []string {
	return append(append(w.host.Env(), w.model.Env()...), "HOME="+filepath.Join(w.host.Root, "group"), w.mark,
		"LONGSHORE_WAIT=20s", "LONGSHORE_MODEL=gemini-2.5-flash", "LONGSHORE_ASSISTANT_NAME=Andy")
}

// each runs a story with every CLI that can be installed, beside one another: they
// wait more than they compute.
func each(t *testing.T, story func(t *testing.T, cli string)) { eachOf(t, driver.Names(), story) }

func eachOf(t *testing.T, clis []string, story func(t *testing.T, cli string)) {
	for _, cli := range clis {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			story(t, cli)
		})
	}
}

func TestRealCLISendsAFileAndRemembersTheConversation(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, modeltest.SendFile("a.pdf", "Ahoy."))
		w.host.File("group/a.pdf", "%PDF-1.4")
		first, err := w.turn(t.Context(), "<messages>\n<message sender=\"Ada\">the tide table, please</message>\n</messages>", "", "LONGSHORE_TURN=turn-1")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(first.Text, "Sent a.pdf (8 bytes, document)") || !strings.HasPrefix(first.Text, "Ahoy.") || first.Session == "" {
			t.Fatalf("reply %+v", first)
		}
		if r := w.host.Next(); r.Files[0].Path != "/workspace/group/a.pdf" || r.Turn != "turn-1" {
			t.Errorf("request %+v", r)
		}
		asked := w.model.Requests()[0]
		for _, want := range []string{"harbour master of Visby", "The members see no file", "call you Andy", "the tide table, please"} {
			if !strings.Contains(asked.Body, want) {
				t.Errorf("the model is not told %q", want)
			}
		}
		for _, want := range []string{"agent=" + cli, "input_tokens=200", "output_tokens=14"} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the operator is not told %q: %s", want, w.log)
			}
		}
		w.model.Script(func(r modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "Aye."} })
		before := len(w.model.Requests())
		w.log.Reset()
		second, err := w.turn(t.Context(), "thank you", first.Session, "LONGSHORE_RIGHTS=full")
		if err != nil || second.Text != "Aye." || second.Session == "" {
			t.Errorf("reply %+v, error %v", second, err)
		}
		if again := w.model.Requests()[before]; !strings.Contains(again.Body, "the tide table, please") || !strings.Contains(again.Body, "thank you") {
			t.Error("the second turn does not know the first")
		}
		if !strings.Contains(w.log.String(), "input_tokens=100 cached_tokens=0 output_tokens=7") || strings.Contains(w.log.String(), "since") {
			t.Errorf("the second turn's usage: %s", w.log)
		}
		w.leavesTheWorkspaceAlone(t)
	})
}

// With its own models codex offers no tool but one that runs scripts, and ours
// are called from those.
func TestRealCodexSendsAFileFromItsCodeMode(t *testing.T) {
	w := newWorld(t, "codex", modeltest.SendFile("a.pdf", "Ahoy."))
	w.host.File("group/a.pdf", "%PDF-1.4")
	reply, err := w.turn(t.Context(), "the tide table, please", "", "LONGSHORE_MODEL=")
	if err != nil || !strings.Contains(reply.Text, "Sent a.pdf (8 bytes, document)") {
		t.Fatalf("reply %+v, error %v", reply, err)
	}
	if r := w.host.Next(); r.Files[0].Path != "/workspace/group/a.pdf" {
		t.Errorf("request %+v", r)
	}
	for _, tool := range w.model.Requests()[0].Tools {
		if tool.Name == "send_file" {
			t.Error("this was not code mode")
		}
	}
}

// Where no model is named, gemini-cli has a small one choose it for each turn.
func TestRealGeminiChoosesItsModel(t *testing.T) {
	w := newWorld(t, "gemini", func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "Aye."} })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // it would wait for a choice for 100
	defer cancel()
	reply, err := w.turn(ctx, "hello", "", "LONGSHORE_MODEL=")
	if err != nil || reply.Text != "Aye." {
		t.Errorf("reply %+v, error %v", reply, err)
	}
}

// leavesTheWorkspaceAlone wants nothing in it but what the test put there.
func (w *world) leavesTheWorkspaceAlone(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.host.Root, "group"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "AGENTS.md" && e.Name() != "a.pdf" {
			t.Errorf("%s lies in the workspace", e.Name())
		}
	}
}

func TestRealCLIReportsWhatTheModelRefuses(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Status: 400, Text: "credit is used up"}
		})
		group := filepath.Join(w.host.Root, "group")
		if err := os.Rename(filepath.Join(group, "AGENTS.md"), filepath.Join(group, "CLAUDE.md")); err != nil {
			t.Fatal(err)
		}
		_, err := w.turn(t.Context(), "hello", "")
		if err == nil || !strings.Contains(err.Error(), "credit is used up") || strings.ContainsAny(err.Error(), "\n{") {
			t.Errorf("got %v", err)
		}
		if !strings.Contains(w.model.Requests()[0].Body, "harbour master of Visby") {
			t.Error("CLAUDE.md is not read")
		}
	})
}

// TestRealCLIKeepsToItsRights has the model run a command that writes outside
// the workspace, and not below /tmp either, which codex leaves open.
func TestRealCLIKeepsToItsRights(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		base := filepath.Dir(modeltest.Cache(t))
		if strings.HasPrefix(base+"/", "/tmp/") {
			base = os.Getenv("HOME")
		}
		outside, err := os.MkdirTemp(base, ".longshore-rights-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(outside) })
		touched := filepath.Join(outside, "touched")
		w := newWorld(t, cli, func(r modeltest.Request) modeltest.Answer {
			if len(r.Results) > 0 {
				return modeltest.Answer{Text: strings.Join(r.Results, " ")}
			}
			call := map[string]string{"claude": "Bash", "codex": "exec_command", "gemini": "run_shell_command", "opencode": "bash"}[cli]
			args := map[string]any{"command": "touch " + touched, "description": "touch"}
			if cli == "codex" {
				args = map[string]any{"cmd": "touch " + touched}
			}
			return modeltest.Answer{Text: "no such tool", Call: call, Args: args}
		})
		for _, test := range []struct {
			rights driver.Rights
			want   bool
		}{{driver.Workspace, false}, {driver.Full, true}} {
			reply, err := w.turn(t.Context(), "go", "", "LONGSHORE_RIGHTS="+string(test.rights))
			if err != nil {
				t.Errorf("%s: %v", test.rights, err)
			}
			if _, err := os.Stat(touched); (err == nil) != test.want {
				t.Errorf("with rights %s: %v; it says %q", test.rights, err, reply.Text)
			}
		}
	})
}

func TestRealCLIBeginsAnewWhenTheSessionIsGone(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "Hello."} })
		lost := "11111111-1111-4111-8111-111111111111"
		if cli == "opencode" {
			lost = "ses_e03452911ffeBYukd0IWXJrLnX"
		}
		reply, err := w.turn(t.Context(), "hello", lost)
		if err != nil || reply.Text != "Hello." || reply.Session == lost || reply.Session == "" {
			t.Errorf("reply %+v, error %v", reply, err)
		}
		if !strings.Contains(w.log.String(), "session is gone") {
			t.Errorf("the operator is not told: %s", w.log)
		}
	})
}

func TestRealCLIIsStoppedWithAllThatItStarted(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Hang: true} })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := w.turn(ctx, "hello", "")
			done <- err
		}()
		select {
		case <-w.model.Arrived():
		case err := <-done:
			t.Fatalf("ended before it was stopped: %v", err)
		case <-time.After(60 * time.Second):
			t.Fatal("the model is not asked")
		}
		if len(marked(w.mark)) < 2 {
			t.Error("the CLI and its tools do not run, so nothing is stopped")
		}
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the turn does not end")
		}
		gone(t, w.mark)
	})
}

// Everything that a chat may have, called once by Claude Code. The other CLIs, which
// list the same tools, call one tool of each form of arguments.
func TestRealCLICallsEveryTool(t *testing.T) {
	all := []modeltest.Answer{
		{Call: "react", Args: map[string]any{"message_id": "m-1", "emoji": "👍"}},
		{Call: "edit_message", Args: map[string]any{"message_id": "m-2", "text": "half of it"}},
		{Call: "unsend", Args: map[string]any{"message_id": "m-2"}},
		{Call: "ask", Args: map[string]any{"question": "Which day?", "choices": []string{"Monday", "Tuesday"}, "several": true, "wait_seconds": 0}},
		{Call: "schedule_task", Args: map[string]any{"prompt": "the tide table", "schedule_type": "cron", "schedule_value": "0 9 * * 1-5"}},
		{Call: "list_tasks", Args: map[string]any{}},
		{Call: "update_task", Args: map[string]any{"task_id": "t-1", "prompt": "the tides"}},
		{Call: "pause_task", Args: map[string]any{"task_id": "t-1"}},
		{Call: "resume_task", Args: map[string]any{"task_id": "t-1"}},
		{Call: "cancel_task", Args: map[string]any{"task_id": "t-1"}},
		{Call: "register_group", Args: map[string]any{"jid": "1@g.us", "name": "Work", "folder": "work", "trigger": "@Andy"}},
		{Call: "list_messages", Args: map[string]any{"limit": 5}},
		{Call: "fetch_file", Args: map[string]any{"message_id": "m-1", "number": 1}},
		{Call: "send_as_pdf", Args: map[string]any{"text": "<p>the tide table"}}, // or says which program is missing
	}
	each(t, func(t *testing.T, cli string) {
		steps := all
		if cli != "claude" {
			steps = slices.DeleteFunc(slices.Clone(all), func(a modeltest.Answer) bool {
				return !slices.Contains([]string{"edit_message", "ask", "list_tasks", "fetch_file", "send_as_pdf"}, a.Call)
			})
		}
		w := newWorld(t, cli, func(r modeltest.Request) modeltest.Answer {
			if n := len(r.Results); n < len(steps) {
				return ofOurs(r, steps[n])
			}
			return modeltest.Answer{Text: "All done."}
		})
		w.host.Answer(fakehost.Done)
		w.host.Tell(fakehost.AbleContext())
		reply, err := w.turn(t.Context(), "do everything", "", "LONGSHORE_TURN=turn-1")
		if err != nil || reply.Text != "All done." {
			t.Fatal(reply, err)
		}
		asked := w.model.Requests()
		saw := strings.Join(asked[len(asked)-1].Results, " ")
		for _, step := range steps[:len(steps)-1] {
			want := strings.TrimSuffix(step.Call, "_message") // the request is called edit
			if r := w.host.Next(); string(r.Type) != want || r.Turn != "turn-1" {
				t.Errorf("got %s of %q, want %s: %s", r.Type, r.Turn, step.Call, saw)
			}
		}
		for call, want := range map[string]string{"react": "the reaction is set", "edit_message": "its new text", "unsend": "gone for everybody", "ask": "Asked", "list_tasks": "All is well."} {
			if slices.ContainsFunc(steps, func(a modeltest.Answer) bool { return a.Call == call }) && !strings.Contains(saw, want) {
				t.Errorf("the model does not see %q: %s", want, saw)
			}
		}
		if !strings.Contains(saw, "Sent document.pdf") && !strings.Contains(saw, "o program is installed here to print HTML") {
			t.Errorf("no PDF: %s", saw)
		}
	})
}

// ofOurs names the tool of our server, since cancel_task and Claude's Task end in ask.
func ofOurs(r modeltest.Request, a modeltest.Answer) modeltest.Answer {
	for _, tool := range r.Tools {
		if name := strings.TrimLeft(strings.TrimPrefix(tool.Name, "mcp_"), "_"); name == a.Call || strings.TrimLeft(strings.TrimPrefix(name, "longshore"), "_") == a.Call {
			a.Call = tool.Name
		}
	}
	return a
}
