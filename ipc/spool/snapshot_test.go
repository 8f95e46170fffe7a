package spool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/ipc"
)

func TestSnapshotsReplaceWhatAnAgentPlanted(t *testing.T) {
	dir := t.TempDir()
	group := filepath.Join(dir, "main")
	outside := filepath.Join(dir, "outside.json")
	for _, err := range []error{
		os.Mkdir(group, 0o755),
		os.WriteFile(outside, []byte("outside"), 0o644),
		os.Symlink(outside, filepath.Join(group, "current_tasks.json")),
		os.MkdirAll(filepath.Join(group, "available_groups.json", "x"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Dir: dir, Folders: []string{"main"}})
	t.Cleanup(func() { s.Close() })
	if err := s.WriteSnapshots("main", []ipc.ChatInfo{{Chat: "1@g.us", Name: "Family"}}, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"current_tasks.json":    "[]",
		"available_groups.json": `"jid": "1@g.us"`,
	} {
		b, err := os.ReadFile(filepath.Join(group, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s is %q, %v; want %s in it", name, b, err, want)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "outside" {
		t.Errorf("the file behind the link is %q, %v", b, err)
	}
	if err := s.WriteSnapshots("other", nil, nil); err == nil {
		t.Error("no error for a group that is not there")
	}
}
