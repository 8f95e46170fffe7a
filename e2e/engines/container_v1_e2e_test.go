//go:build e2e

package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// v1Runner does in a container what NanoClaw v1's entry point and agent-runner
// were seen to do: it reads the document until the end of stdin, knows the
// model's key from its environment alone, writes requests into directories
// that it makes itself, keeps its conversation in the home directory, answers
// follow-ups while it runs, and ends with _close.
const v1Runner = `set -e
mkdir /tmp/dist; cat >/tmp/input.json
of() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" /tmp/input.json; }
say() { printf '%s\n%s\n%s\n' ---NANOCLAW_OUTPUT_START--- "$1" ---NANOCLAW_OUTPUT_END---; }
drop() { mkdir -p /workspace/ipc/$1; f=/workspace/ipc/$1/$(date +%s%3N)-$2.json; printf '%s' "$3" >$f.tmp; mv $f.tmp $f; }
rest="\"chatJid\":\"$(of chatJid)\",\"groupFolder\":\"$(of groupFolder)\",\"timestamp\":\"2026-04-18T09:00:00.000Z\""
rm -f /workspace/ipc/input/_close
drop messages k3x9ab "{\"type\":\"message\",\"text\":\"by hand\",$rest}"
drop messages k3x9ac "{\"type\":\"send_file\",\"filePath\":\"/workspace/group/a.txt\",\"caption\":\"see\",$rest}"
scheduled=scheduled; drop tasks k3x9ad "{\"type\":\"schedule_task\",\"prompt\":\"remind\",$rest}" || scheduled=unscheduled
echo turn >>"$HOME/.claude/turns"
say "{\"status\":\"success\",\"result\":\"key $MODEL_KEY, session $(of sessionId), turn $(wc -l <"$HOME/.claude/turns"), $scheduled<internal>aside</internal>\",\"newSessionId\":\"s-1\"}"
say '{"status":"success","result":null,"newSessionId":"s-1"}'
until [ -e /workspace/ipc/input/_close ]; do
  for f in /workspace/ipc/input/*.json; do
    [ -e "$f" ] || continue
    rm "$f"; say '{"status":"success","result":"a follow-up","newSessionId":"s-1"}'
  done
  sleep 0.1
done
rm /workspace/ipc/input/_close`

// v1Image makes an image with that entry point.
func (h *boxes) v1Image() string {
	h.Helper()
	const name = "longshore-test/nanoclaw-v1:latest"
	ctx := h.Context()
	made, err := h.api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &container.Config{Image: containertest.Base(h), Cmd: []string{"v1"}}})
	if err != nil {
		h.Fatal(err)
	}
	defer h.api.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{Force: true})
	entry, err := json.Marshal([]string{"/bin/bash", "-c", v1Runner})
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.ContainerCommit(ctx, made.ID, client.ContainerCommitOptions{Reference: name, Changes: []string{"ENTRYPOINT " + string(entry)}}); err != nil {
		h.Fatal(err)
	}
	return name
}

// newV1Boxes is an installation over a v1 directory, with v1's image.
func newV1Boxes(t *testing.T) *boxes {
	t.Helper()
	h := newBoxesOf(t, 1, `{runtime: docker, agent: claude, image: IMAGE, network: none, memory: 64MiB, env: {MODEL_KEY: "${V1_TEST_KEY}"}}`)
	t.Setenv("V1_TEST_KEY", "of-the-model")
	text, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("IMAGE"), []byte(h.v1Image()), 1)
	if err := os.WriteFile(h.file, append([]byte("layout: v1\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestV1ImageServesItsDirectory has v1's image answer over a v1 directory, in
// one session and the next.
func TestV1ImageServesItsDirectory(t *testing.T) {
	h := newV1Boxes(t)
	m := stage.Member{Base: h.base, Chat: "g0"}
	for turn := 1; turn <= 2; turn++ {
		opened := h.open()
		if err := os.WriteFile(filepath.Join(opened.Layout.Workspace("g0"), "a.txt"), []byte("a"), 0o644); err != nil {
			t.Fatal(err)
		}
		stop := h.runHost(opened)
		asked := h.say(m, "hello")
		session := map[int]string{1: "", 2: "s-1"}[turn]
		h.answeredWith(m, asked, fmt.Sprintf("key of-the-model, session %s, turn %d, scheduled", session, turn))
		if turn == 1 {
			h.answeredWith(m, h.say(m, "and more"), "a follow-up")
		}
		h.answeredWith(m, asked, "by hand")
		if file := h.fileAfter(m, asked); file.File.Name != "a.txt" || file.Text != "see" {
			t.Errorf("the file in the chat: %+v", file)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		tasks, err := os.ReadDir(opened.Layout.IPC("g0", "tasks"))
		if err != nil || len(tasks) != 0 {
			t.Errorf("in tasks/: %v, %v; what the agent wrote there was to reach the queue", tasks, err)
		}
	}
}

// fileAfter waits for the first file after the message.
func (h *boxes) fileAfter(m stage.Member, asked string) history.Message {
	h.Helper()
	deadline := time.Now().Add(stage.Patience)
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		var page struct{ Messages []history.Message }
		err := m.Call(h.Context(), "GET", m.Messages()+"?after="+asked, nil, &page)
		for _, msg := range page.Messages {
			if msg.File != nil {
				tick.Stop()
				return msg
			}
		}
		if time.Now().After(deadline) {
			h.Fatalf("no file came: %v, %+v", err, page.Messages)
		}
	}
}

// TestKeysStandInNoEnvironmentButV1s looks at what the engine knows of a
// container: v1's agent-runner finds its keys nowhere else, our own reads them
// from stdin.
func TestKeysStandInNoEnvironmentButV1s(t *testing.T) {
	key := func(h *boxes) bool {
		opened := h.open()
		defer opened.Close()
		g, _ := opened.Registry().ByFolder("g0")
		plan, err := opened.Plan(g)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Secrets["MODEL_KEY"] != "of-the-model" {
			t.Errorf("the document holds %q", plan.Secrets)
		}
		_, ok := plan.Env["MODEL_KEY"]
		return ok
	}
	if v1 := newV1Boxes(t); !key(v1) {
		t.Error("v1's image is not given its key")
	}
	own := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: sample, image: %q, env: {MODEL_KEY: %q}}", containertest.Base(t), "${V1_TEST_KEY}"))
	if key(own) {
		t.Error("our own image's key stands in its environment")
	}
}

// TestDoctorBeforeTheFirstStart takes the order that the guides give: look,
// then start. What a start makes is not missing before it.
func TestDoctorBeforeTheFirstStart(t *testing.T) {
	for name, h := range map[string]*boxes{"ours": newBoxes(t, 1), "v1": newV1Boxes(t)} {
		said := h.doctor()
		if !strings.Contains(said, "ok engine it answers") || strings.Contains(said, "fault group g0") {
			t.Errorf("%s: before the first start:\n%s", name, said)
		}
		if os.Geteuid() != 0 {
			continue // only root gives directories away
		}
		if err := errors.Join(h.open().Close(), os.Chown(h.workspace(), 4242, 4242), os.Chown(h.ipc("input"), 4242, 4242)); err != nil {
			t.Fatal(err)
		}
		said = h.doctor()
		if strings.Count(said, "fault group g0 group g0: mount ") != 2 || strings.Contains(said, `\n`) || !strings.Contains(said, "run: chown -R 1000:1000") {
			t.Errorf("%s: with two directories of somebody else's:\n%s", name, said)
		}
	}
}

func (h *boxes) workspace() string { return filepath.Join(filepath.Dir(h.file), "state/groups/g0") }

func (h *boxes) ipc(leaf string) string {
	for _, layout := range []string{"state/ipc", "state/data/ipc"} {
		path := filepath.Join(filepath.Dir(h.file), layout, "g0", leaf)
		if _, missing := os.Lstat(path); missing == nil {
			return path
		}
	}
	h.Fatalf("the queue has no %s", leaf)
	return ""
}
