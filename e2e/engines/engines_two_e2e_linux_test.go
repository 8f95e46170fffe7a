//go:build e2e

package engines

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh/sshtest"
)

// harbour is an installation with two engines on other machines, dock and quay. dock may be ended.
type harbour struct {
	*boxes
	state string
	image string // which neither has yet
	text  string // of longshore.yaml, before the groups
	dock  *containertest.Private
	api   map[string]*client.Client // of each engine
}

// counts is an assistant that says how often it ran in its volume. Where it ran before, it hangs in its
// first turn with "toil".
const counts = `said=$(cat); echo run >>runs
case $said in *toil*) echo toil >>works; if [ -e known ] && [ $(wc -l <works) -lt 2 ]; then sleep 3600; fi;; esac
touch known; echo "run $(wc -l <runs)"`

// newHarbour has four groups. Those of wait wait for an engine that is away, those of move do not.
func newHarbour(t *testing.T) *harbour {
	t.Helper()
	_, quay := containertest.Engine(t)
	h := &harbour{boxes: newBoxesOn(t, quay, 0, "{}"), dock: containertest.NewPrivate(t, "--bridge=none"), api: map[string]*client.Client{}}
	h.dock.Base()
	h.image = fmt.Sprintf("longshore-test/two:%d", os.Getpid())
	h.state = filepath.Join(filepath.Dir(h.file), "state")
	h.api["dock"], h.api["quay"] = h.dock.API(), h.boxes.api
	text := fmt.Sprintf("state: ./state\nlimits: {free_disk: 1MiB}\nchannels: {web: {listen: %q}}\nengines:\n", strings.TrimPrefix(h.base, "http://"))
	for name, socket := range map[string]string{"dock": h.dock.Socket(), "quay": strings.TrimPrefix(quay, "unix://")} {
		m := sshtest.Start(t)
		text += fmt.Sprintf("  %s: {ssh: {host: %q, user: %s, key: %q, known_hosts: %q}, socket: %q}\n", name, m.Host, m.User, m.Key, m.KnownHosts, socket)
	}
	text += "assistants:\n"
	for _, name := range []string{"wait", "move"} {
		text += fmt.Sprintf("  %s: {runtime: docker, share: none, network: none, image: %q, when_away: %s, agent: command, command: [sh, -c, %q]}\n", name, h.image, name, counts)
	}
	h.text = text + "groups:\n"
	h.write(", engine: dock", ", engine: quay")
	h.engine = "unix:///nonexistent/docker.sock" // this machine has none
	t.Cleanup(h.clear)
	return h
}

// write writes longshore.yaml, with further keys of the first groups.
func (h *harbour) write(keys ...string) {
	text, keys := h.text, append(keys, make([]string, 4)...)
	for i, assistant := range []string{"wait", "wait", "move", "move"} {
		text += fmt.Sprintf("  - {folder: g%d, chat: \"web:g%d\", assistant: %s, gather: {after: 0s}%s}\n", i, i, assistant, keys[i])
	}
	sshtest.Write(h, h.file, text)
}

// clear removes what the hosts have left on the engines.
func (h *harbour) clear() {
	for _, api := range h.api {
		for i := range 4 {
			folder := fmt.Sprint("g", i)
			if id := on(api, folder); id != "" {
				_, _ = api.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true})
			}
			_, _ = api.VolumeRemove(context.Background(), docker.Volume(stage.OwnerOf(h.state), folder), client.VolumeRemoveOptions{Force: true})
		}
		_, _ = api.ImageRemove(context.Background(), h.image, client.ImageRemoveOptions{Force: true})
	}
}

// on is the id of a group's container on an engine; empty if it has none there.
func on(api *client.Client, folder string) string {
	list, err := api.ContainerList(context.Background(), client.ContainerListOptions{Filters: client.Filters{}.Add("label", "longshore.group="+folder)})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	return list.Items[0].ID
}

// works reports whether a group's assistant hangs in its work on an engine.
func (h *harbour) works(engine, folder string) bool {
	api := h.api[engine]
	made, err := api.ExecCreate(h.Context(), on(api, folder), client.ExecCreateOptions{Cmd: []string{"sh", "-c", "cat $HOME/longshore/" + folder + "/works"}, AttachStdout: true})
	if err != nil {
		return false
	}
	stream, err := api.ExecAttach(h.Context(), made.ID, client.ExecAttachOptions{})
	if err != nil {
		return false
	}
	defer stream.Close()
	text, _ := io.ReadAll(stream.Reader)
	return strings.Contains(string(text), "toil")
}

// command runs a command of the operator's, and returns what it says without columns.
func (h *harbour) command(args ...string) string {
	h.Helper()
	cmd := exec.Command(os.Args[0], append(args, "-c", h.file)...)
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+h.engine)
	said, _ := cmd.CombinedOutput() // the test looks at what it says
	return strings.Join(strings.Fields(string(said)), " ")
}

func (h *harbour) has(said string, words ...string) {
	h.Helper()
	for _, one := range words {
		if !strings.Contains(said, one) {
			h.Errorf("nothing says %q:\n%s", one, said)
		}
	}
}

func (h *harbour) member(i int) stage.Member {
	return stage.Member{Base: h.base, Chat: fmt.Sprint("g", i)}
}

const movedOn = "The assistant now works on another machine and begins anew"

// TestOneOfTwoEnginesDiesInTheMiddleOfTurns: the groups of the other one are answered meanwhile. Those of
// the dead one wait for it, and find their workspace; or begin anew on the other one, which their chat and
// the operator are told. A killed host's containers are ended on both.
func TestOneOfTwoEnginesDiesInTheMiddleOfTurns(t *testing.T) {
	h := newHarbour(t)
	h.has(h.command("doctor"), "engine dock it answers at ssh://root@", "engine quay it answers at ssh://root@",
		"image build --tag "+h.image+" --engine dock", "image build --tag "+h.image+" --engine quay")
	h.has(h.command("image", "build", "--base", containertest.Base(t), "--tools", "", "--network", containertest.Network,
		"--agentrunner", containertest.Runner(t), "--tag", h.image), "built "+h.image+" on dock, quay")
	serving, log := h.serve()
	for i := range 4 {
		h.answeredWith(h.member(i), h.say(h.member(i), "hello"), "run 1")
	}
	h.has(h.command("workspace", "list"), "-g0 dock", "-g1 quay", "-g2 dock", "-g3 quay")
	h.write() // the first two had an engine of their own, since either one may be the first that answers
	h.has(h.command("reload"), "applied")

	waits, moves := h.say(h.member(0), "toil"), h.say(h.member(2), "toil")
	for _, folder := range []string{"g0", "g2"} {
		stage.Await(t, folder+" to work", func() bool { return h.works("dock", folder) })
	}
	h.dock.End(syscall.SIGKILL)
	began := time.Now()
	h.answeredWith(h.member(1), h.say(h.member(1), "hello"), "run 2")
	t.Logf("a group of the other engine was answered %v after its end", time.Since(began))
	h.answeredWith(h.member(2), moves, movedOn)
	h.answeredWith(h.member(2), moves, "run 1")
	t.Logf("a group had moved and was answered %v after its end", time.Since(began))
	h.has(h.command("doctor"), "the container engine dock does not answer", "there are the workspaces of g0; g2 began anew on another engine")
	h.has(h.command("why", "g0"), "the container engine dock does not answer")
	if said := h.command("why", "g1"); strings.Contains(said, "engine dock") {
		t.Errorf("of a group on the other engine, why says %s", said)
	}
	h.answeredWith(h.member(1), h.say(h.member(1), "hello"), "run 3")

	h.dock.Start()
	h.answeredWith(h.member(0), waits, "run 3") // the second one was cut off
	for _, text := range h.heard(h.member(0)) {
		if strings.Contains(text, movedOn) {
			t.Error("the group that waits has moved")
		}
	}
	h.has(h.command("workspace", "list"), "-g0 dock", "-g1 quay", "-g2 dock", "-g2 quay", "-g3 quay")
	h.has(h.command("workspace", "remove", "g2"), "several engines: dock, quay", "name one with --engine")
	h.has(h.command("workspace", "remove", "g2", "--engine", "dock"), "removed")
	h.answeredWith(h.member(2), h.say(h.member(2), "hello"), "run 2")

	asked := h.say(h.member(3), "toil")
	stage.Await(t, "g3 to work", func() bool { return h.works("quay", "g3") })
	if err := serving.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serving.Wait() // killed
	h.has(log.String(), "begins anew on another engine")
	if on(h.api["dock"], "g0") == "" || on(h.api["quay"], "g3") == "" {
		t.Error("a killed host leaves no containers")
	}
	serving, log = h.serve()
	h.answeredWith(h.member(3), asked, "run 3") // on the same engine
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
	if n := strings.Count(log.String(), "container of an earlier host ended"); n < 2 || on(h.api["dock"], "g0") != "" {
		t.Errorf("the next host ended %d containers of the killed one:\n%s", n, log)
	}
}
