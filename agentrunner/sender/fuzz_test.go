package sender

import (
	"encoding/base64"
	"errors"
	"path/filepath"
	"strings"
	"testing"
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
