//go:build e2e

package engines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// loneBoxes is an installation whose groups share no directory and no network with their
// assistants' containers.
type loneBoxes struct {
	*boxes
	state string
}

func newLoneBoxes(t *testing.T, n int) *loneBoxes {
	t.Helper()
	return newLoneBoxesOf(t, n, "none", "agent: sample, memory: 64MiB")
}

// newLoneBoxesOf is newLoneBoxes with the image of a CLI, and further keys of the assistant.
func newLoneBoxesOf(t *testing.T, n int, cli, more string) *loneBoxes {
	t.Helper()
	h := &loneBoxes{boxes: newBoxesOf(t, n, fmt.Sprintf("{runtime: docker, image: %q, network: none, share: none, %s}", containertest.AgentImage(t, cli), more))}
	h.state = filepath.Join(filepath.Dir(h.file), "state")
	t.Cleanup(func() { // after the hosts have ended
		for i := range n {
			folder := fmt.Sprintf("g%d", i)
			if id := h.container(folder); id != "" {
				_, _ = h.api.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true})
			}
			_, _ = h.api.VolumeRemove(context.Background(), docker.Volume(stage.OwnerOf(h.state), folder), client.VolumeRemoveOptions{Force: true})
		}
	})
	return h
}

// container is the id of a group's container; empty if it has none.
func (h *loneBoxes) container(folder string) string {
	list, err := h.api.ContainerList(context.Background(), client.ContainerListOptions{Filters: client.Filters{}.Add("label", "longshore.group="+folder)})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	return list.Items[0].ID
}

// exec runs a script in a group's container and returns what it prints.
func (h *loneBoxes) exec(folder, user, script string) string {
	h.Helper()
	ctx := h.Context()
	made, err := h.api.ExecCreate(ctx, h.container(folder), client.ExecCreateOptions{User: user, Cmd: []string{"/bin/sh", "-c", script}, AttachStdout: true, AttachStderr: true})
	if err != nil {
		h.Fatal(err)
	}
	stream, err := h.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		h.Fatal(err)
	}
	defer stream.Close()
	var stdout, stderr bytes.Buffer // which of them comes first is the engine's affair
	if _, err := stdcopy.StdCopy(&stdout, &stderr, stream.Reader); err != nil {
		h.Fatal(err)
	}
	return stdout.String() + stderr.String()
}

// givesBack sends a file to the chat, and expects it back byte for byte.
func (h *loneBoxes) givesBack(m stage.Member, size int) {
	h.Helper()
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	id := stage.Guest{Member: m, T: h.TB}.Posts("", "", map[string]string{"log.bin": string(content)})
	ctx, cancel := context.WithTimeout(h.Context(), stage.Patience)
	defer cancel()
	answer, err := m.Wait(ctx, id, 1)
	if err != nil {
		h.Fatal(err)
	}
	want := sha256.Sum256(content)
	for _, msg := range answer {
		if msg.File == nil || !msg.Assistant {
			continue
		}
		if got, err := m.Download(ctx, msg.File.URL); err != nil || got != hex.EncodeToString(want[:]) {
			h.Errorf("%s came back as %s, %v", msg.File.Name, got, err)
		}
		return
	}
	h.Error("no file came back")
}

// command runs a command of the operator's.
func (h *loneBoxes) command(args ...string) string {
	h.Helper()
	cmd := exec.Command(os.Args[0], append(args, "-c", h.file)...)
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+h.engine)
	said, _ := cmd.CombinedOutput() // the test looks at what it says
	return string(said)
}

// token is the token of a group's session, as its assistant has it.
func (h *loneBoxes) token(folder string) string {
	h.Helper()
	token := strings.TrimSpace(h.exec(folder, "", "cat /tmp/longshore/*/token"))
	if !strings.HasPrefix(token, "lsh_") {
		h.Fatalf("the container of %s has the token %q", folder, token)
	}
	return token
}

const onSocket = "LONGSHORE_URL=unix:/workspace/access/host.sock "

// TestContainerThatSharesNoDirectorySendsItsFiles: members' files go in and come out, by
// the start document, by a follow-up, and after the host was killed under the container.
// What the container leaves is deleted by command alone.
func TestContainerThatSharesNoDirectorySendsItsFiles(t *testing.T) {
	h := newLoneBoxes(t, 1)
	first, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.answered(m, h.say(m, "help"))
	h.givesBack(m, 3<<20) // a follow-up
	answer, err := m.Wait(t.Context(), h.say(m, "send me the report"), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range answer {
		if msg.File == nil {
			continue
		}
		received, err := m.Download(t.Context(), msg.File.URL)
		wrote, _, _ := strings.Cut(h.exec("g0", "", "sha256sum $HOME/longshore/g0/"+msg.File.Name), " ")
		if err != nil || wrote != received {
			t.Errorf("%s: received %s, the assistant wrote %s, %v", msg.File.Name, received, wrote, err)
		}
	}
	if said := h.command("workspace", "remove", "g0"); !strings.Contains(said, "runs, and uses its workspace") {
		t.Errorf("remove of a workspace in use says %q", said)
	}

	engine, _ := containertest.Engine(t)
	if err := refusal.Of(engine.RemoveVolume(t.Context(), stage.OwnerOf(h.state), "g0")); err == nil || err.Code != "workspace_in_use" {
		t.Errorf("the removal of a workspace in use says %v", err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	second, log := h.serve()
	h.answered(m, h.say(m, "help"))
	h.givesBack(m, 1<<20)
	if said := h.exec("g0", "", "ls $HOME/longshore/g0"); !strings.Contains(said, "harbour-week.pdf") {
		t.Errorf("the workspace after a kill has %q", said)
	}
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
	if said := h.command("workspace", "list"); !strings.Contains(said, "g0") {
		t.Errorf("the list says %q", said)
	}
	if said := h.command("workspace", "remove", "g0"); !strings.Contains(said, "removed") {
		t.Errorf("remove says %q", said)
	}
	if said := h.command("workspace", "remove", "g0"); !strings.Contains(said, "no volume has a workspace") {
		t.Errorf("a second remove says %q", said)
	}
	left, err := os.ReadDir(filepath.Join(h.state, "groups", "g0"))
	if names := slices.DeleteFunc(left, func(e os.DirEntry) bool { return e.Name() == "inbox" }); err != nil || len(names) > 0 {
		t.Errorf("the host's directory has %v, %v", names, err)
	}
}

// TestSocketOfAContainerIsItsOwn: nobody else gets in by it, and what the engine tells of
// the container names neither a token nor another directory of the host.
func TestSocketOfAContainerIsItsOwn(t *testing.T) {
	h := newLoneBoxes(t, 2)
	serving, log := h.serve()
	for _, chat := range []string{"g0", "g1"} {
		m := stage.Member{Base: h.base, Chat: chat}
		h.answered(m, h.say(m, "help"))
	}
	tokens := map[string]string{"g0": h.token("g0"), "g1": h.token("g1")}

	health := func(user, token string) string {
		return h.exec("g0", user, onSocket+"LONGSHORE_TOKEN="+token+" agentrunner health")
	}
	if said := health("", tokens["g0"]); !strings.Contains(said, "web:g0") {
		t.Errorf("with its own token the container hears %q", said)
	}
	foreign, unknown := health("", tokens["g1"]), health("", "lsh_0000000000000000_AAAA")
	if foreign != unknown || !strings.Contains(foreign, "token") || strings.Contains(foreign, "g1") {
		t.Errorf("with another group's token it hears %q, with an unknown one %q", foreign, unknown)
	}
	for _, user := range []string{"2000:2000", "2000:1000", "0:0"} { // root has no capabilities there
		if said := health(user, tokens["g0"]); !strings.Contains(said, "permission denied") {
			t.Errorf("user %s hears %q", user, said)
		}
	}
	if said := h.exec("g0", "", "touch /workspace/access/x; rm /workspace/access/host.sock; ls /workspace/access"); strings.Count(said, "Read-only file system") != 2 {
		t.Errorf("a change of the socket's directory says %q", said)
	}

	inspected, err := h.api.ContainerInspect(t.Context(), h.container("g0"), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binds := 0
	for _, at := range inspected.Container.Mounts {
		switch at.Type {
		case mount.TypeBind:
			if binds++; at.Source != filepath.Join(h.state, "sockets/g0") || at.RW {
				t.Errorf("it has %s of the host at %s", at.Source, at.Destination)
			}
		case mount.TypeVolume:
			if at.Name != docker.Volume(stage.OwnerOf(h.state), "g0") {
				t.Errorf("it has the volume %s", at.Name)
			}
		}
	}
	raw := string(inspected.Raw)
	if own := strings.ReplaceAll(raw, filepath.Join(h.state, "sockets/g0"), ""); binds != 1 || strings.Contains(own, h.state) {
		t.Errorf("%d directories of the host; what the engine tells:\n%s", binds, indented(raw))
	}
	for folder, token := range tokens {
		if strings.Contains(raw, token) || strings.Contains(h.export("g0"), token) {
			t.Errorf("the token of %s is in what the engine tells, or in an export", folder)
		}
	}
	info, err := os.Stat(filepath.Join(h.state, "sockets/g0"))
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("the socket's directory is %v, %v", info.Mode(), err)
	}
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil || strings.Contains(log.String(), tokens["g0"]) {
		t.Errorf("%v:\n%s", err, log)
	}
}

// TestDroppedFileLeavesAContainerThatSharesNoDirectory, from programs that call no tool.
func TestDroppedFileLeavesAContainerThatSharesNoDirectory(t *testing.T) {
	h := newLoneBoxesOf(t, 1, "none", `agent: command, command: [sh, -c, "cat >/dev/null; ln -s /etc/passwd $LONGSHORE_DROP_DIR/link.txt; echo dropped >$LONGSHORE_DROP_DIR/d.txt; echo done"]`)
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	answer, err := m.Wait(ctx, h.say(m, "hello"), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256([]byte("dropped\n"))
	for _, msg := range answer {
		if msg.File != nil && (msg.File.Name != "d.txt" || msg.File.SHA256 != hex.EncodeToString(want[:])) {
			t.Errorf("%+v came", msg.File)
		}
	}
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
}

// export is the file system of a group's container.
func (h *loneBoxes) export(folder string) string {
	h.Helper()
	r, err := h.api.ContainerExport(h.Context(), h.container(folder), client.ContainerExportOptions{})
	if err != nil {
		h.Fatal(err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		h.Fatal(err)
	}
	return string(all)
}

func indented(raw string) string {
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(raw), "", " ") // it is the engine's
	return b.String()
}

// TestFirstContainerThatSharesNothingNeedsARestart: the door that its tools come through is
// opened at a start.
func TestFirstContainerThatSharesNothingNeedsARestart(t *testing.T) {
	h := newLoneBoxes(t, 1)
	alone, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.file, bytes.Replace(alone, []byte("share: none"), []byte("share: directories"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.answered(m, h.say(m, "help"))
	if err := os.WriteFile(h.file, alone, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := h.command("reload"); !strings.Contains(said, "taken up at a start only") {
		t.Errorf("reload says %s", said)
	}
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
}

// TestSocketIsNotMountedOnAnEngineElsewhere: an engine with a tcp address may run on another
// machine.
func TestSocketIsNotMountedOnAnEngineElsewhere(t *testing.T) {
	h := newLoneBoxes(t, 1)
	socket := strings.TrimPrefix(h.engine, "unix://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", socket)
		}},
	}
	front := &http.Server{Handler: proxy, ReadHeaderTimeout: stage.Patience}
	served := make(chan error, 1)
	go func() { served <- front.Serve(l) }()
	t.Cleanup(func() { _ = front.Close(); <-served })
	h.engine = "tcp://" + l.Addr().String()
	serving, log := h.serve()
	if err := serving.Wait(); err == nil || !strings.Contains(log.String(), "name an engine in engines: by its unix socket here") {
		t.Errorf("the host ends with %v:\n%s", err, log)
	}
	if said := h.doctor(); !strings.Contains(said, "the engine listens at tcp://") {
		t.Errorf("doctor says %s", said)
	}
}
