package sender

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/ipc"
)

func FuzzContentIsWholeOrRefused(f *testing.F) {
	for _, content := range []string{"JVBERi0xLjQ=", "JVBE\nRi0x", "====", "data:,x", "_-8=", "000", "data:;base64,JVBERi0xLjQ"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		data, err := decodeContent(content)
		if err != nil {
			var p *Problem
			if !errors.As(err, &p) || p.Hint == "" {
				t.Fatalf("%q: no remedy in %v", content, err)
			}
			return
		}
		given := strings.NewReplacer("\n", "", "\r", "").Replace(content)
		if head, tail, ok := strings.Cut(given, ","); ok && len(head) >= 5 && strings.EqualFold(head[:5], "data:") {
			given = tail
		}
		padded, bare := base64.StdEncoding.EncodeToString(data), base64.RawStdEncoding.EncodeToString(data)
		if given != padded && given != bare {
			t.Errorf("%q became %q", content, padded)
		}
	})
}

// Data holds what members wrote, and a summary reaches a terminal.
func FuzzAnswersStayPrintable(f *testing.F) {
	for _, data := range []string{`{"words":"All.\nWell."}`, `{"words":"\u001b[2J","open":true,"answers":[]}`, `[1]`, `{"words":7}`, `null`, `{`} {
		f.Add([]byte(data), "ask")
	}
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		r := Report{ID: "id", Files: []Part{{Kind: kind}}}.with(ipc.Result{Status: ipc.Sent, Data: data}).inWords(whenAsked, 0, "")
		if r.Summary == "" || strings.ContainsFunc(r.Summary, func(c rune) bool { return c != '\n' && c < ' ' || c == 0x7f || c == 0x9b }) {
			t.Errorf("%q became %q", data, r.Summary)
		}
		if b, err := json.Marshal(r); err != nil {
			t.Errorf("%q cannot be answered: %v %s", data, err, b)
		}
	})
}

func FuzzPathsStayWhereTheyBelong(f *testing.F) {
	for _, path := range []string{"/workspace/group/a.pdf", "/workspace/group/../../etc/passwd", "/workspace/group-evil/a",
		"file:///workspace/group/a%2e%2e/b", "~/a", "a/../b", "//x", "file://h/x"} {
		f.Add(path)
	}
	s := New(Config{IPC: "/real/ipc", Mounts: []Mount{{Path: "/workspace/group", Local: "/real/group"}}})
	f.Fuzz(func(t *testing.T, path string) {
		local, err := s.localPath(path)
		if err != nil {
			var p *Problem
			if !errors.As(err, &p) {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		if !filepath.IsAbs(local) || strings.ContainsRune(local, 0) {
			t.Errorf("%q became %q", path, local)
		}
		if container, ok := s.config.container(filepath.Clean(local)); ok && !under(container, "/workspace/group") && !under(container, containerIPC) {
			t.Errorf("%q is asked for as %q, which is on no mount", path, container)
		}
	})
}
