package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// badInput is something that a container can put into its queue.
type badInput struct {
	name string // of the entry, without ".json"
	code string // that its refusal has
	make func(path string) error
}

// badBodies are requests with a body that must be refused.
var badBodies = []struct{ name, code, body string }{
	{"empty", ipc.CodeMalformed, ``},
	{"torn", ipc.CodeMalformed, `{"type":"message","text":"hal`},
	{"two", ipc.CodeMalformed, `{"type":"message","text":"a"}{"type":"message","text":"b"}`},
	{"array", ipc.CodeMalformed, `[{"type":"message","text":"a"}]`},
	{"latin1", ipc.CodeMalformed, "{\"type\":\"message\",\"text\":\"caf\xe9\"}"},
	{"nul", ipc.CodeWrongValue, `{"type":"message","text":"a\u0000b"}`},
	{"duplicate", ipc.CodeDuplicateKey, `{"type":"message","chatJid":"mem:g0","chatJid":"mem:g1","text":"a"}`},
	{"folded", ipc.CodeUnknownKey, `{"type":"message","CHATJID":"mem:g1","text":"a"}`},
	{"number", ipc.CodeWrongValue, `{"type":"message","text":7}`},
	{"type", ipc.CodeUnknownType, `{"type":"teleport","text":"a"}`},
	{"wrong-chat", "chat_not_allowed", `{"type":"message","chatJid":"mem:g1","text":"a"}`},
	{"wrong-folder", "wrong_group", `{"type":"message","groupFolder":"g1","text":"a"}`},
	{"no-chat", "chat_not_allowed", `{"type":"message","chatJid":"mem:nowhere","text":"a"}`},
	{"absolute", "not_mounted", `{"type":"file","filePath":"/etc/passwd"}`},
	{"dot-dot", "path_escapes", `{"type":"file","filePath":"/workspace/group/../../etc/passwd"}`},
	{"sibling", "not_mounted", `{"type":"file","filePath":"/workspace/group-evil/a"}`},
	{"link-out", "path_escapes", `{"type":"file","filePath":"/workspace/group/out"}`},
	{"linked-dir", "path_escapes", `{"type":"file","filePath":"/workspace/group/outside/passwd"}`},
	{"fifo-file", "not_a_file", `{"type":"file","filePath":"/workspace/group/pipe"}`},
	{"missing", "file_missing", `{"type":"file","filePath":"/workspace/group/nothing"}`},
	{"sparse-file", "file_too_large", `{"type":"file","filePath":"/workspace/group/sparse"}`},
	{"linked-file", "hard_link", `{"type":"file","filePath":"/workspace/group/second"}`},
	{"many", ipc.CodeTooManyFiles, `{"type":"file","files":[` + strings.Repeat(`{"filePath":"/a"},`, ipc.MaxFiles) + `{"filePath":"/a"}]}`},
	{"deep", ipc.CodeMalformed, strings.Repeat("[", 10_000)},
}

// badInputs are all of them; secret is a file that no container sees.
func badInputs(t *testing.T, secret string) []badInput {
	all := []badInput{
		{"fifo", ipc.CodeNotFile, func(p string) error { return syscall.Mkfifo(p, 0o666) }},
		{"symlink", ipc.CodeNotFile, func(p string) error { return os.Symlink(secret, p) }},
		{"dangling", ipc.CodeNotFile, func(p string) error { return os.Symlink("nothing", p) }},
		{"loop", ipc.CodeNotFile, func(p string) error { return os.Symlink(filepath.Base(p), p) }},
		{"directory", ipc.CodeNotFile, func(p string) error { return os.MkdirAll(filepath.Join(p, "full"), 0o777) }},
		{"oversized", ipc.CodeTooLarge, func(p string) error { return os.WriteFile(p, make([]byte, ipc.MaxRequest+1), 0o644) }},
		{"sparse", ipc.CodeTooLarge, func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o644), os.Truncate(p, 1<<40)) }},
		{"hard-link", ipc.CodeHardLinked, func(p string) error {
			kept := filepath.Join(filepath.Dir(p), ".kept")
			return errors.Join(os.WriteFile(kept, []byte(`{"type":"message","text":"a"}`), 0o644), os.Link(kept, p))
		}},
	}
	if os.Getuid() == 0 {
		all = append(all, badInput{"device", ipc.CodeNotFile, func(p string) error {
			return syscall.Mknod(p, syscall.S_IFCHR|0o666, 1<<8|5) // /dev/zero
		}})
	}
	for _, b := range badBodies {
		all = append(all, badInput{b.name, b.code, func(p string) error { return os.WriteFile(p, []byte(b.body), 0o644) }})
	}
	return all
}

// plantFiles makes what the requests of badBodies name.
func plantFiles(t *testing.T, workspace, secret string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(workspace, name) }
	err := errors.Join(
		os.Symlink(secret, in("out")), os.Symlink(filepath.Dir(secret), in("outside")), syscall.Mkfifo(in("pipe"), 0o666),
		os.WriteFile(in("sparse"), nil, 0o644), os.Truncate(in("sparse"), 1<<40),
		os.WriteFile(in("first"), []byte("x"), 0o644), os.Link(in("first"), in("second")),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// TestBadInputsEndWithAReasonAndStopNobody puts each bad input into one
// group's queue and, after each, has another group served. In the end every
// request has a result or an entry in the errors folder.
func TestBadInputsEndWithAReasonAndStopNobody(t *testing.T) {
	noLeaks(t)
	s := stage.NewSite(t, t.TempDir(), 2, stage.NoLimits)
	secret := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(secret, []byte("TOPSECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	plantFiles(t, s.Cfg.Layout().Workspace("g0"), secret)
	memory := memory.New(memory.Options{Online: true})
	_, stop := s.Start(nil, memory)
	want := map[string]string{}
	for i, bad := range badInputs(t, secret) {
		tmp := filepath.Join(s.Messages("g0"), ".bad-"+bad.name)
		if err := errors.Join(bad.make(tmp), os.Rename(tmp, filepath.Join(s.Messages("g0"), bad.name+".json"))); err != nil {
			t.Fatalf("%s: %v", bad.name, err)
		}
		want[bad.name] = bad.code
		if r := s.Result("g1", s.Put("g1", i)); r.Status != ipc.Sent {
			t.Errorf("beside %s: result %+v", bad.name, r)
		}
		r := s.Result("g0", bad.name)
		if r.Status != ipc.Refused || r.Code != bad.code || r.Message == "" || r.Hint == "" {
			t.Errorf("%s: result %+v, want code %s and a remedy", bad.name, r, bad.code)
		}
		if said := fmt.Sprint(r); strings.Contains(said, s.Dir) || strings.Contains(said, "TOPSECRET") {
			t.Errorf("%s: the refusal tells what a container must not know: %s", bad.name, said)
		}
	}
	if r := s.Result("g0", s.Put("g0", 0)); r.Status != ipc.Sent {
		t.Errorf("the group's next good request: %+v", r)
	}
	stop()
	quarantined(s, t, want)
	if left, err := os.ReadDir(s.Messages("g0")); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name()[0] != '.' }) {
		t.Errorf("left in the queue: %v, %v", left, err)
	}
	if n := len(memory.Shown("mem:g0")); n != 1 {
		t.Errorf("the group's chat shows %d messages, want 1", n)
	}
}

// quarantined fails the test unless the errors folder holds an entry for each
// id, with its code, and no other.
func quarantined(s *stage.Site, t *testing.T, want map[string]string) {
	t.Helper()
	entries, err := spool.ListErrors(s.Cfg.Layout().IPCDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range entries {
		if want[x.Request] != x.Code || x.Folder != "g0" || x.Message == "" || x.Hint == "" || x.Attempts != 1 {
			t.Errorf("entry %+v, want code %q", x, want[x.Request])
		}
		delete(want, x.Request)
	}
	if len(want) > 0 {
		t.Errorf("not in the errors folder: %v", want)
	}
}
