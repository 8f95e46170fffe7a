//go:build e2e

package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestFileLeavesContainer is the whole road: a member asks in the web chat, the
// group's assistant makes files in its container and sends them with its own
// tool, and the member downloads what it wrote.
func TestFileLeavesContainer(t *testing.T) {
	h := newBoxes(t, 1)
	opened := h.open()
	stop := h.runHost(opened)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		if left := h.running(); len(left) > 0 {
			t.Errorf("a host that ended left the containers of %q", left)
		}
	}()
	m := stage.Member{Base: h.base, Chat: "g0"}
	asked := h.say(m, "send me the report")
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	answer, err := m.Wait(ctx, asked, 2)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, msg := range answer {
		if msg.File == nil {
			continue
		}
		files++
		received, err := m.Download(ctx, msg.File.URL)
		if err != nil {
			t.Fatal(err)
		}
		if wrote, err := stage.SumOfFile(opened.Layout.Workspace("g0"), msg.File.Name); err != nil || wrote != received {
			t.Errorf("%s: received %s, the assistant wrote %s, %v", msg.File.Name, received, wrote, err)
		}
	}
	if files < 2 || !slices.Equal(h.running(), []string{"g0"}) {
		t.Errorf("%d files, from the containers of %q; want 2 from that of g0", files, h.running())
	}
}

// TestTwentyGroupsShareThreeContainers calls twenty assistants at once. All
// answer, and never do more than three run.
func TestTwentyGroupsShareThreeContainers(t *testing.T) {
	const many = 20
	h := newBoxes(t, many)
	opened := h.open()
	stop := h.runHost(opened)
	watch, unwatch := context.WithCancel(t.Context())
	most, seen := 0, make(chan struct{})
	go func() {
		defer close(seen)
		for tick := time.NewTicker(20 * time.Millisecond); watch.Err() == nil; <-tick.C {
			most = max(most, len(h.running()))
		}
	}()
	var members sync.WaitGroup
	for i := range many {
		members.Go(func() {
			m := stage.Member{Base: h.base, Chat: fmt.Sprintf("g%d", i)}
			h.answered(m, h.say(m, "help"))
		})
	}
	members.Wait()
	unwatch()
	<-seen
	if most > 3 || most == 0 {
		t.Errorf("%d containers ran at once, want 3 at most", most)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if left := h.running(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestKilledHostsContainersAreEnded kills a host with a container, finds the
// container alive, and has the next host end it and answer.
func TestKilledHostsContainersAreEnded(t *testing.T) {
	h := newBoxes(t, 1)
	m := stage.Member{Base: h.base, Chat: "g0"}
	first, _ := h.serve()
	h.answered(m, h.say(m, "help"))
	first.Process.Kill()
	first.Wait()
	if got := h.running(); !slices.Equal(got, []string{"g0"}) {
		t.Fatalf("after the kill the containers of %q run, want that of g0", got)
	}
	second, log := h.serve()
	asked := h.say(m, "help")
	h.answered(m, asked)
	second.Process.Signal(os.Interrupt)
	second.Wait()
	if left := h.running(); len(left) > 0 || !strings.Contains(log.String(), "container of an earlier host ended") {
		t.Errorf("left behind: %q; the second host's log:\n%s", left, log)
	}
}

// TestImageBuildCommand builds an image as an operator does.
func TestImageBuildCommand(t *testing.T) {
	_, engine := containertest.Engine(t)
	cmd := exec.Command(os.Args[0], "image", "build", "--base", containertest.Base(t), "--tools", "", "--network", containertest.Network,
		"--agentrunner", containertest.Runner(t), "--tag", "longshore-test/command:latest")
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+engine)
	if said, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(said, []byte("built longshore-test/command:latest\n")) {
		t.Errorf("image build: %v\n%s", err, said)
	}
	cmd = exec.Command(os.Args[0], "image", "build", "--agentrunner", "/nowhere")
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST=unix:///nowhere/docker.sock")
	if said, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(said, []byte("no container engine answers: tried unix:///nowhere/docker.sock")) {
		t.Errorf("image build without an engine: %v\n%s", err, said)
	}
}

// TestRealAgentsFileLeavesContainer has real agent CLIs in their own images
// call the tool that sends a file, on the word of a model on loopback.
func TestRealAgentsFileLeavesContainer(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			image := containertest.AgentImage(t, agent)
			model := modeltest.New(t, modeltest.SendFile("/workspace/group/tides.csv", "Here is the tide table."))
			env := []string{"LONGSHORE_MODEL: gemini-2.5-flash"} // opencode wants one to be named where it is told a server
			for _, v := range model.Env() {
				name, value, _ := strings.Cut(v, "=")
				env = append(env, fmt.Sprintf("%s: %q", name, value))
			}
			h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: %s, image: %q, network: %s, env: {%s}}",
				agent, image, containertest.Network, strings.Join(env, ", ")))
			opened := h.open()
			stop := h.runHost(opened)
			defer func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}()
			table := []byte("time,height\n06:12,4.1\n")
			if err := os.WriteFile(filepath.Join(opened.Layout.Workspace("g0"), "tides.csv"), table, 0o644); err != nil {
				t.Fatal(err)
			}
			m := stage.Member{Base: h.base, Chat: "g0"}
			h.answered(m, h.say(m, "the tide table, please"))
			var page struct{ Messages []history.Message }
			if err := m.Call(t.Context(), "GET", m.Messages(), nil, &page); err != nil {
				t.Fatal(err)
			}
			want, _ := stage.SumOf(bytes.NewReader(table))
			if !slices.ContainsFunc(page.Messages, func(msg history.Message) bool {
				return msg.File != nil && msg.File.Name == "tides.csv" && msg.File.SHA256 == want
			}) {
				log, _ := os.ReadFile(filepath.Join(opened.Layout.Logs(), "g0", "assistant.log"))
				t.Errorf("the file did not reach the chat: %+v\nthe assistant's log:\n%s", page.Messages, log)
			}
		})
	}
}

// TestEveryPrefixIsSentFromContainer sends a file from each directory that
// main's container has, with a umask that hides them from everybody else; what
// a shadow hides, and what lies in the home of its agent CLI, cannot be sent.
func TestEveryPrefixIsSentFromContainer(t *testing.T) {
	script := `umask 077; echo a >/workspace/group/a.txt; echo d >/tmp/d.txt; echo e >"$HOME/e.txt"
for f in group/a.txt global/b.txt extra/photos/c.txt project/p.txt; do agentrunner send /workspace/$f >&2 || echo "not sent: $f"; done
agentrunner send /tmp/d.txt >&2 || echo "not sent: /tmp/d.txt"; mkdir -p "$HOME/.longshore"; echo key >"$HOME/.longshore/key"
for f in /workspace/project/.env /workspace/project/state/logs/x "$HOME/e.txt" "$HOME/.longshore/key" /etc/hostname; do agentrunner send $f >&2 && echo "sent: $f"; done; echo over`
	h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none}",
		script, containertest.AgentImage(t, "none")))
	project := filepath.Dir(h.file)
	photos := filepath.Join(project, "photos")
	text, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("{folder: g0,"), []byte("{folder: g0, main: true, mounts: [{name: photos, host: ./photos}],"), 1)
	text = append([]byte("project: .\nmounts: {allow: [{path: ./photos}]}\n"), text...)
	for name, data := range map[string]string{"longshore.yaml": string(text), ".env": "KEY=secret", "p.txt": "p", "photos/c.txt": "c", "state/groups/global/b.txt": "b"} {
		path := filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(photos, 0o755); err != nil {
		t.Fatal(err)
	}
	opened := h.open()
	stop := h.runHost(opened)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	m := stage.Member{Base: h.base, Chat: "g0"}
	asked := h.say(m, "go")
	h.answeredWith(m, asked, "over")
	var page struct{ Messages []history.Message }
	if err := m.Call(t.Context(), "GET", m.Messages()+"?after="+asked, nil, &page); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, msg := range page.Messages {
		switch {
		case msg.File != nil:
			files = append(files, msg.File.Name)
		case msg.Assistant && strings.TrimSpace(msg.Text) != "over":
			t.Errorf("the assistant says %q", msg.Text)
		}
	}
	if slices.Sort(files); !slices.Equal(files, []string{"a.txt", "b.txt", "c.txt", "d.txt", "p.txt"}) {
		log, _ := os.ReadFile(filepath.Join(opened.Layout.Logs(), "g0", "assistant.log"))
		t.Errorf("sent %q; the assistant's log:\n%s", files, log)
	}
}
