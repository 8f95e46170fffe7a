//go:build unix

package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// The way of other systems, tried on this one.
func TestOpenPortable(t *testing.T) {
	dir := t.TempDir()
	put := func(content, name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put("x", "a.txt")
	put("x", "twice")
	must(os.Link(filepath.Join(dir, "twice"), filepath.Join(dir, "second")))
	must(os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	must(os.Symlink("a.txt", filepath.Join(dir, "link")))
	must(os.Symlink("..", filepath.Join(dir, "up")))
	must(os.Symlink(filepath.Join(dir, "a.txt"), filepath.Join(dir, "absolute")))
	must(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))

	plain := &root{mount: Mount{Container: "/workspace/group", Host: dir}}
	shadowed := &root{mount: plain.mount, inner: []*hidden{
		newHidden(plain.mount, Mount{Container: "/workspace/group/.env", Shadow: true, Hides: filepath.Join(dir, ".env")}),
	}}
	for _, tt := range []struct {
		root *root
		rel  string
		code string
	}{
		{plain, "a.txt", ""},
		{plain, "link", ""},
		{plain, "absolute", CodePathEscapes},
		{plain, "up/x", CodePathEscapes},
		{plain, "none", CodeFileMissing},
		{plain, "sub", CodeNotAFile},
		{plain, "pipe", CodeNotAFile},
		{plain, "second", CodeHardLink},
		{shadowed, "a.txt", ""},
		{shadowed, "link", CodePathEscapes},
		{shadowed, "none", CodeFileMissing},
	} {
		var got string
		err := tt.root.use(func(h *dirHandle) error {
			f, err := tt.root.openPortable(h, tt.rel, tt.rel)
			if f != nil {
				must(f.Close())
			}
			return err
		})
		var refusal *refusal.Error
		if errors.As(err, &refusal) {
			got = refusal.Code
		}
		if got != tt.code || (err == nil) != (tt.code == "") {
			t.Errorf("%s: %v (code %q), want code %q", tt.rel, err, got, tt.code)
		}
	}
	must(plain.close())
	must(shadowed.close())
}
