package bridge_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/host/screen/screentest"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestASecretDoesNotLeave sends each secret in each way that a file can take.
func TestASecretDoesNotLeave(t *testing.T) {
	all := screentest.Secrets()
	if len(all) < 60 {
		t.Fatalf("%d secrets", len(all))
	}
	names := slices.Sorted(maps.Keys(all))
	s := newSite(t)
	ways := map[string]func(name string) (folder string, r ipc.Request){
		"tool": func(name string) (string, ipc.Request) { return "family", file(s.write("family", name, all[name])) },
		"directive": func(name string) (string, ipc.Request) {
			r := file(s.write("family", name, all[name]))
			r.Batch = true
			return "family", r
		},
		"staged": func(name string) (string, ipc.Request) {
			staged := filepath.Join(s.layout.IPC("family", "files"), "0-"+strings.ReplaceAll(name, "/", "_"))
			check(t, os.WriteFile(staged, []byte(all[name]), 0o644))
			r := file("/workspace/ipc/files/" + filepath.Base(staged))
			r.Files[0].Name = name
			if strings.Contains(name, "/") {
				r.Files[0].Name, r.Files[0].Path = "", s.write("family", name, all[name])
			}
			return "family", r
		},
		"main": func(name string) (string, ipc.Request) {
			r := file(s.write("ops", name, all[name]))
			r.Chat = "mem:family"
			return "ops", r
		},
	}
	for way, make := range ways {
		for some := range slices.Chunk(names, 20) {
			var rs []ipc.Request
			folder := ""
			for _, name := range some {
				var r ipc.Request
				folder, r = make(name)
				rs = append(rs, r)
			}
			for i, f := range s.handle(folder, rs...) {
				if f.Refusal == nil || f.Refusal.Code != screen.Code {
					t.Errorf("%s: %s left: %+v", way, some[i], f)
				}
			}
		}
	}
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(all[name]), 0o644))
		if _, err := s.SendFor(t.Context(), "family", file(path), bridge.OpenOwn); bridge.AsRefusal(err) == nil || bridge.AsRefusal(err).Code != screen.Code {
			t.Errorf("operator's send: %s left: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.layout.Own(), "blobs", "[0-9a-f]*"))
	check(t, err)
	if len(left) > 0 {
		t.Errorf("%d copies of refused files are kept", len(left))
	}
}

// TestASecretDoesNotLeaveAsAPrint: of a PDF the screen can read nothing, so it reads the
// text that was printed.
func TestASecretDoesNotLeaveAsAPrint(t *testing.T) {
	s := newSite(t)
	print := func(from, text string) ipc.Request {
		r := file(s.write("family", "note.pdf", "%PDF-1.4 pictures of letters"))
		r.Files[0].From, r.Files[0].Source = from, s.write("family", "note.txt", text)
		return r
	}
	for name, text := range screentest.Secrets() {
		if f := s.handle("family", print(name, text))[0]; f.Refusal == nil || f.Refusal.Code != screen.Code {
			t.Errorf("%s left: %+v", name, f)
		}
		if _, err := s.Examine("family", print(name, text), s.Mounted("family")); bridge.AsRefusal(err) == nil || bridge.AsRefusal(err).Code != screen.Code {
			t.Errorf("dry run of %s: %v", name, err)
		}
	}
	if f := s.handle("family", print("notes.md", "# As agreed"))[0]; f.Refusal != nil {
		t.Errorf("a harmless print: %+v", f.Refusal)
	}
	gone := print("notes.md", "# As agreed")
	gone.Files[0].Source += "x"
	if f := s.handle("family", gone)[0]; f.Refusal == nil {
		t.Error("a print whose text is gone left")
	}
}

func TestHarmlessFilesLeave(t *testing.T) {
	all := screentest.Harmless()
	if len(all) < 40 {
		t.Fatalf("%d harmless files", len(all))
	}
	s := newSite(t)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(all)), 20) {
		var rs []ipc.Request
		for _, name := range some {
			rs = append(rs, file(s.write("family", name, all[name])))
		}
		for i, f := range s.handle("family", rs...) {
			if !f.Accepted {
				t.Errorf("%s: %+v", some[i], f)
			}
		}
	}
}
