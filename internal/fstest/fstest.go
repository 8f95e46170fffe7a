// Package fstest makes directories, files and file systems for tests, and says
// by which code one was refused.
package fstest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// RealTemp returns a temporary directory whose path is free of links.
func RealTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ShortTemp returns a new directory in which the path of a socket is short enough, whatever TMPDIR is.
func ShortTemp(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "longshore-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Mkdir creates a directory and its parents, and returns its path.
func Mkdir(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Write creates a file and its directory, and returns the file's path.
func Write(t testing.TB, content string, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	Mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Symlink creates a link to target.
func Symlink(t testing.TB, target string, parts ...string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(parts...)); err != nil {
		t.Fatal(err)
	}
}

// Code is the code of a refusal, "" for no error, "passing" for another error.
func Code(err error) string {
	if err == nil {
		return ""
	}
	if r := refusal.Of(err); r != nil {
		return r.Code
	}
	return "passing"
}
