//go:build e2e

package docker_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// world is a state directory with the group family and its neighbour, of which
// family's container must see nothing.
type world struct {
	t       testing.TB
	layout  groups.Layout
	family  groups.Group
	runtime docker.Runtime
}

func newWorld(t testing.TB) *world {
	t.Helper()
	engine, _ := containertest.Engine(t)
	return newWorldOn(t, engine, containertest.Base(t))
}

func newWorldOn(t testing.TB, engine *docker.Engine, image string) *world {
	t.Helper()
	state := filepath.Join(realTemp(t), "state")
	w := &world{
		t: t, layout: groups.Layout{State: state},
		family: groups.Group{Name: "Family", Folder: "family", Chat: "web:family"},
		runtime: docker.Runtime{
			Engine: engine, Image: image, State: state, Network: "none",
			Memory: 256 << 20, Pids: 64, Grace: time.Second,
		},
	}
	if err := w.layout.Prepare([]groups.Group{w.family, {Folder: "neighbour", Chat: "web:neighbour"}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := engine.Reap(context.Background(), state); err != nil || len(left) > 0 {
			t.Errorf("the test leaves containers of %v, %v", left, err)
		}
	})
	return w
}

// realTemp is a directory whose path holds no link.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// spec describes a session that runs a shell script in the container.
func (w *world) spec(script string) runtime.Spec {
	w.t.Helper()
	m, err := mounts.New(w.layout, w.family)
	if err != nil {
		w.t.Fatal(err)
	}
	return runtime.Spec{
		Group: w.family, Command: []string{"/bin/sh", "-c", script}, Mounts: m.Mounts(), Agent: "sample",
		Input: []byte(`{"prompt":"hello","secrets":{"KEY":"hunter2"}}`), TZ: "Europe/Berlin",
		WorkDir: w.layout.Workspace("family"), IPC: w.layout.IPC("family", ""), LogDir: filepath.Join(w.layout.Logs(), "family"),
	}
}

func (w *world) onPodman() bool { return w.runtime.Engine.Facts().Podman }

func (w *world) start(spec runtime.Spec) runtime.Session {
	w.t.Helper()
	s, err := w.runtime.Start(w.t.Context(), spec)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Stop(context.Background()) })
	return s
}

// run runs a script to its end and returns what it said and how it ended.
func (w *world) run(script string) (said []string, err error) {
	w.t.Helper()
	s := w.start(w.spec(script))
	for out := range s.Outputs() {
		if out.Result != nil {
			said = append(said, *out.Result)
		}
	}
	return said, s.Wait()
}

// ask runs a script whose last output is what it prints, and returns that.
func (w *world) ask(script string) string {
	w.t.Helper()
	said, err := w.run(sayOutputOf(script))
	if err != nil || len(said) != 1 {
		w.t.Fatalf("%s\nsaid %q and ended with %v; its log:\n%s", script, said, err, w.log())
	}
	return said[0]
}

// engineAPI is the engine's own API, for what the runtime does not offer.
func engineAPI(t testing.TB) *client.Client {
	t.Helper()
	_, host := containertest.Engine(t)
	api, err := client.New(client.WithHost(host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// ofFamily are the containers of family that run.
var ofFamily = client.ContainerListOptions{Filters: client.Filters{}.Add("label", "longshore.group=family")} //nolint:gochecknoglobals // a constant

// asRoot runs a script as root in the container that runs, beside the
// assistant, and returns what it prints with its lines ended by "|".
func (w *world) asRoot(script string) string {
	w.t.Helper()
	api, ctx := engineAPI(w.t), w.t.Context()
	found, err := api.ContainerList(ctx, ofFamily)
	if err != nil || len(found.Items) != 1 {
		w.t.Fatalf("%d containers of family, %v", len(found.Items), err)
	}
	made, err := api.ExecCreate(ctx, found.Items[0].ID, client.ExecCreateOptions{User: "0:0", Cmd: []string{"/bin/sh", "-c", script}, AttachStdout: true})
	if err != nil {
		w.t.Fatal(err)
	}
	stream, err := api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Close()
	var said strings.Builder
	if _, err := stdcopy.StdCopy(&said, io.Discard, stream.Reader); err != nil {
		w.t.Fatal(err)
	}
	return strings.ReplaceAll(said.String(), "\n", "|")
}

// sayOutputOf wraps a script so that what it prints is one output of the
// protocol. Quotes and backslashes in it would break the JSON and are dropped.
// What the script leaves of its input is read: Podman drops the output of a
// container that ends before it has.
func sayOutputOf(script string) string {
	return fmt.Sprintf(`out=$( { %s
} 2>&1 | tr '\n' '|' | tr -d '"\\\t')
cat >/dev/null
%s`, script, say("$out"))
}

// say is the shell command that makes an output of a text.
func say(text string) string {
	return fmt.Sprintf(`printf -- '---NANOCLAW_OUTPUT_START---\n{"status":"success","result":"%%s"}\n---NANOCLAW_OUTPUT_END---\n' "%s"`, text)
}

func (w *world) log() string {
	data, _ := os.ReadFile(filepath.Join(w.layout.Logs(), "family", "assistant.log"))
	return string(data)
}

// lines are the lines of an answer of ask.
func lines(answer string) []string {
	return strings.Split(strings.Trim(answer, "|"), "|")
}

func (w *world) write(path, text string, mode os.FileMode) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}
