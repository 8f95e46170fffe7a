package sender_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMissingQueueIsNamed(t *testing.T) {
	s := sender.New(sender.Config{IPC: filepath.Join(t.TempDir(), "ipc"), Wait: time.Second})
	var p *sender.Problem
	if _, err := s.SendText(t.Context(), "hello", sender.Options{}); !errors.As(err, &p) || p.Code != "no_queue" {
		t.Errorf("send: %v", err)
	}
	if info := s.Info("1"); info.Working || !strings.HasPrefix(info.Summary, "Not working: there is no queue") {
		t.Errorf("info %+v", info)
	}
	if err := s.Writable(); err == nil {
		t.Error("says that it can write there")
	}
}

func TestInfoSaysWhatIsTheMatter(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	if info := s.Info("1.0"); !info.Working || !info.Connected ||
		!strings.HasPrefix(info.Summary, "Working: this group's chat is web:family on web, which is connected. Largest files: audio 1 MiB, document 4 MiB") {
		t.Errorf("connected: %+v", info)
	}
	if info := s.Info("1.0"); info.Links != nil || !strings.Contains(info.Summary, "larger file is refused: links are not offered") {
		t.Errorf("without links: %+v", info)
	}
	linking := fakehost.Context()
	linking.Links = &ipc.ContextLinks{MaxBytes: 1 << 30, Seconds: 7 * 24 * 3600}
	h.Tell(linking)
	if info := s.Info("1.0"); info.Links == nil || *info.Links != (sender.LinkInfo{MaxBytes: 1 << 30, Hours: 168}) || !strings.Contains(info.Summary, "up to 1 GiB, goes as a link") {
		t.Errorf("with links: %+v", info)
	}
	down := fakehost.Context()
	down.Connected = false
	h.Tell(down)
	if info := s.Info("1.0"); !strings.Contains(info.Summary, "web is not connected") {
		t.Errorf("not connected: %+v", info)
	}
	old := h.File("ipc/messages/.old", `{"type":"message","text":"hello"}`)
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(old, past, past), os.Rename(old, filepath.Join(h.IPC, "messages/old.json"))); err != nil {
		t.Fatal(err)
	}
	if info := s.Info("1.0"); info.Working || info.Pending != 1 || !strings.Contains(info.Summary, "does not take requests: 1 waiting") {
		t.Errorf("host that does not run: %+v", info)
	}
}

func TestEnvironmentThatMakesNoSenseIsNamed(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"wait":           {"LONGSHORE_WAIT": "soon"},
		"wait of zero":   {"LONGSHORE_WAIT": "0s"},
		"mounts":         {"LONGSHORE_MOUNTS": "{"},
		"relative mount": {"LONGSHORE_MOUNTS": `[{"path":"/workspace/group","local":"group"}]`},
	} {
		if _, err := sender.FromEnv(func(key string) string { return env[key] }); err == nil || !strings.Contains(err.Error(), "LONGSHORE_") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	config, err := sender.FromEnv(func(key string) string {
		return map[string]string{"NANOCLAW_CHAT_JID": "1@g.us", "NANOCLAW_IS_MAIN": "1", "NANOCLAW_GROUP_FOLDER": "main"}[key]
	})
	want := sender.Config{IPC: "/workspace/ipc", Chat: "1@g.us", Folder: "main", Main: true, Wait: 45 * time.Second, Temp: []string{"/tmp"}, Private: []string{}}
	if diff := cmp.Diff(want, config); diff != "" || err != nil {
		t.Errorf("older names (-want +got):\n%s%v", diff, err)
	}
}
