package finding

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAnImmutableDirectoryWasToBeMadeWritable by chmod, which changes nothing about it: each error of the system has
// its own remedy, and names what it is about.
func TestAnImmutableDirectoryWasToBeMadeWritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	seen := map[string]syscall.Errno{}
	for number, words := range system {
		got := Remedy(fmt.Errorf("write: %w", &fs.PathError{Op: "open", Path: path, Err: number}), "/elsewhere")
		if other, twice := seen[got]; got == "" || twice || strings.Contains(got, "PATH") || strings.Contains(words, "PATH") != strings.Contains(got, "'"+path+"'") {
			t.Errorf("%v: %q; also of %v: %v", number, got, other, twice)
		}
		seen[got] = number
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: path + "/new", Err: syscall.EROFS}, "mount its file system for writing: '" + path + "'"}, // it was to be made there
		{syscall.EPERM, "chattr -i -a /tmp, as root: lsattr -d /tmp shows whether it is immutable (i) or append-only (a)"},
		{syscall.EACCES, "chmod u+rwX /tmp, as its owner or as root"},
		{fs.ErrPermission, "chmod u+rwX /tmp, as its owner or as root"},
		{syscall.ENOENT, ""},
		{nil, ""},
	} {
		if got := Remedy(tt.err, "/tmp"); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
