package dropdir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// An assistant whose CLI may write in the workspace alone can put links and pipes
// where this package, which may write elsewhere, expects its own files. What is here
// follows no link that was there before and waits for no pipe.

// realDir reports whether path is a directory and not a link to one.
func realDir(path string) bool {
	stat, err := os.Lstat(path)
	return err == nil && stat.IsDir()
}

// replace makes text the content of a new file at path.
func replace(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// stampIn reads the stamp in the file at path. It is the workspace's own word: the
// host decides what it counts for.
func stampIn(path string) (stamp string, ok bool) {
	if stat, err := os.Lstat(path); err != nil || !stat.Mode().IsRegular() || stat.Size() > maxStamp {
		return "", false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxStamp))
	return string(text), err == nil
}
