package stage

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FirstRelease is an archive of installations that the first release has made, seen from
// a package two directories below the root; its README.md says what is in it.
const FirstRelease = "../../e2e/upgrade/testdata/upgrade/first.tar.gz"

// Unpack writes a fixture to a directory, with its modes and times.
func Unpack(t *testing.T, archive string) (dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for from := tar.NewReader(zip); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		mode := h.FileInfo().Mode().Perm()
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, mode)
		} else {
			data, readErr := io.ReadAll(from)
			err = errors.Join(readErr, os.WriteFile(path, data, mode), os.Chtimes(path, h.ModTime, h.ModTime))
		}
		if err := errors.Join(err, os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
}
