//go:build e2e

package engines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/runtime/ssh/sshtest"
)

// farBoxes are loneBoxes on an engine that the host reaches over ssh alone.
type farBoxes struct {
	*loneBoxes
	machine *sshtest.Machine
}

func newFarBoxes(t *testing.T, n int, more string) *farBoxes {
	t.Helper()
	h := newLoneBoxesOf(t, n, "none", more)
	m := sshtest.Start(t)
	text, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, "engines: {far: {ssh: {host: %q, user: %s, key: %q, known_hosts: %q}, socket: %q}}\n", m.Host, m.User, m.Key, m.KnownHosts, strings.TrimPrefix(h.engine, "unix://"))
	sshtest.Write(t, h.file, string(text))
	h.engine = "unix:///nonexistent/docker.sock" // this machine has none
	return &farBoxes{h, m}
}

// end ends a host, which must have no complaint.
func (h *farBoxes) end(serving *exec.Cmd, log fmt.Stringer) {
	h.Helper()
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		h.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		h.Errorf("%v:\n%s", err, log)
	}
}

// TestContainersOnAnotherMachineSendTheirFiles over the connection to it, which may break.
// Each has a socket there that its own user alone can connect to.
func TestContainersOnAnotherMachineSendTheirFiles(t *testing.T) {
	h := newFarBoxes(t, 2, "agent: sample, memory: 64MiB")
	if said := h.doctor(); !strings.Contains(said, "it answers at ssh://root@") {
		t.Errorf("doctor says %s", said)
	}
	known, err := os.ReadFile(h.machine.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	h.machine.Knows(t, h.machine.NewKey(t, "other"))
	if said := h.doctor(); !strings.Contains(said, "the machine's key has changed") || strings.Count(said, "only then replace its line") != 1 {
		t.Errorf("of a changed key doctor says %s", said)
	}
	sshtest.Write(t, h.machine.KnownHosts, string(known))
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.answered(m, h.say(m, "help"))
	h.givesBack(m, 1<<20)

	inspected, err := h.api.ContainerInspect(t.Context(), h.container("g0"), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := ""
	for _, at := range inspected.Container.Mounts {
		if at.Type == mount.TypeBind {
			dir = at.Source
		}
	}
	if filepath.Dir(dir) != filepath.Join(h.machine.Home, ".longshore/sockets") || strings.Contains(string(inspected.Raw), h.state) {
		t.Errorf("the container has the directory %q; what the engine tells:\n%s", dir, indented(string(inspected.Raw)))
	}
	for name, want := range map[string]os.FileMode{dir: os.ModeDir | 0o711, filepath.Dir(dir): os.ModeDir | 0o700, filepath.Join(dir, "host.sock"): os.ModeSocket | 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "host.sock")); err != nil || info.Sys().(*syscall.Stat_t).Uid != 1000 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	token := h.token("g0")
	for _, user := range []string{"2000:2000", "0:0"} {
		if said := h.exec("g0", user, onSocket+"LONGSHORE_TOKEN="+token+" agentrunner health"); !strings.Contains(said, "permission denied") {
			t.Errorf("user %s hears %q", user, said)
		}
	}
	if _, err := os.Stat(filepath.Join(h.state, "sockets")); !os.IsNotExist(err) {
		t.Errorf("this machine has a directory of sockets: %v", err)
	}

	// sshd's process of the connection ends, and with it the session.
	for _, pid := range stage.Below(t, h.machine.Sshd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one may end with another
	}
	n := stage.Member{Base: h.base, Chat: "g1"}
	h.answered(n, h.say(n, "help"))
	h.givesBack(m, 1<<20)
	if said := h.command("workspace", "list"); !strings.Contains(said, "g0") {
		t.Errorf("the list of workspaces says %q", said)
	}
	h.end(serving, log)
}

// TestKeyStaysAtHomeOnAnotherMachine: the calls of a container's model come over the
// connection to the engine's machine.
func TestKeyStaysAtHomeOnAnotherMachine(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "the model's words"} })
	const canary = "sk-canary-of-the-other-machine"
	h := newFarBoxes(t, 1, fmt.Sprintf("agent: command, command: [bash, -c, %q], keys: proxy, env: {ANTHROPIC_BASE_URL: %q, ANTHROPIC_API_KEY: %s}", stage.AskModel, model.URL, canary))
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.answeredWith(m, h.say(m, "hello"), "the model's words")
	forms := stage.FormsOf(canary)
	inspected, err := h.api.ContainerInspect(t.Context(), h.container("g0"), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	processes := append(beside(t, inspected.Container.State.Pid), stage.Below(t, h.machine.Sshd.Process.Pid)...)
	found := stage.SearchFiles(t, h.machine.Home, forms)
	for _, pid := range processes {
		found = append(found, stage.SearchProcess(t, pid, forms)...)
	}
	if len(found) > 0 || len(processes) < 3 {
		t.Errorf("the key is in %q of %v", found, processes)
	}
	h.end(serving, log)
}

// TestALostConnectionToTheEngineLosesNoTurn: the container ends, and the turn, which has
// sent nothing, is run again. So it is after the host was killed.
func TestALostConnectionToTheEngineLosesNoTurn(t *testing.T) {
	h := newFarBoxes(t, 1, `idle_timeout: 2s, agent: command, command: [sh, -c, "cat >/dev/null; echo run >>runs; if [ $(wc -l <runs) -gt 2 ]; then echo at last; exit; fi; sleep 3600"]`)
	serving, _ := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	asked := h.say(m, "hello")
	runs := func(n int) func() bool {
		return func() bool {
			return h.container("g0") != "" && strings.Count(h.tryExec("g0", "cat $HOME/longshore/g0/runs"), "run") == n
		}
	}
	h.until("the first run", runs(1))
	for _, pid := range stage.Below(t, h.machine.Sshd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one may end with another
	}
	h.until("the second run", runs(2))
	if err := serving.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serving.Wait() // killed
	serving, log := h.serve()
	h.answeredWith(m, asked, "at last")
	h.end(serving, log)
}

// tryExec is exec in a container that may just end.
func (h *farBoxes) tryExec(folder, script string) string {
	made, err := h.api.ExecCreate(h.Context(), h.container(folder), client.ExecCreateOptions{Cmd: []string{"/bin/sh", "-c", script}, AttachStdout: true})
	if err != nil {
		return ""
	}
	stream, err := h.api.ExecAttach(h.Context(), made.ID, client.ExecAttachOptions{})
	if err != nil {
		return ""
	}
	defer stream.Close()
	text, _ := io.ReadAll(stream.Reader)
	return string(text)
}

// TestFileThatAKilledContainerLeftIsSent by the next one, over the socket as any other: the
// host reads no file system of a container.
func TestFileThatAKilledContainerLeftIsSent(t *testing.T) {
	h := newFarBoxes(t, 1, `agent: command, command: [sh, -c, "cat >/dev/null; if [ ! -e ran ]; then touch ran; echo left >$LONGSHORE_DROP_DIR/left.txt; kill -9 -1; fi; echo done"]`)
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	asked := h.say(m, "hello")
	want := sha256.Sum256([]byte("left\n"))
	h.until("the file", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
		defer cancel()
		answer, err := m.Wait(ctx, asked, 1)
		return err == nil && slices.ContainsFunc(answer, func(msg history.Message) bool {
			return msg.File != nil && msg.File.Name == "left.txt" && msg.File.SHA256 == hex.EncodeToString(want[:])
		})
	})
	h.end(serving, log)
}
