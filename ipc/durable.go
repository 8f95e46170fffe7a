package ipc

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeDurable writes a new file and renames it to its name, so that a reader
// finds it whole or not at all, and a power loss after the return keeps it.
// It is readable to all: host and container may be different users.
func writeDurable(dir, name string, b []byte) error {
	tmp := filepath.Join(dir, "."+name+".tmp")
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = writeAndSync(f, b)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(dir)
}

// writeAndSync writes, syncs and closes f; the mode is set here because the
// umask has taken its part of the one given at creation.
func writeAndSync(f *os.File, b []byte) error {
	_, err := f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
