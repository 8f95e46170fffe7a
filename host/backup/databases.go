package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/longshore-bridge/longshore/host/move"
	"github.com/longshore-bridge/longshore/host/store"
)

// database copies a store's database from its snapshot.
func (c *copier) database(s *store.Snapshot) (StoreEntry, error) {
	path := c.rel(filepath.Join(s.Dir, s.File))
	at := StoreEntry{Name: s.Name, Path: stateDir + "/" + path, Version: s.Version}
	if err := move.CopyTo(c.ctx, s, c.target(path)); err != nil {
		return at, err
	}
	return at, c.record(path, stateDir+"/"+path, c.target(path), "")
}

// extra copies a file that lies outside the state directory.
func (c *copier) extra(temp, name, from string) error {
	to, err := copyExtra(c.ctx, temp, name, from)
	if err != nil {
		return err
	}
	if name == configName {
		from = ""
	}
	return c.record("/"+name, name, to, from)
}

// copyExtra copies a file of at most maxExtra bytes into the backup in temp.
func copyExtra(ctx context.Context, temp, name, from string) (to string, err error) {
	to = filepath.Join(temp, filepath.FromSlash(name))
	f, err := os.Open(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		var size int64
		if _, size, err = copyTo(ctx, to, f, maxExtra+1, nil); err == nil && size > maxExtra {
			err = errors.New("it has more than 1 MiB")
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", from, err)
	}
	return to, nil
}

// record adds the entry of a file that was written without a pass.
func (c *copier) record(key, path, at, from string) error {
	e, err := entryAt(c.ctx, at, path)
	e.From = from
	c.all[key] = &copied{Entry: e, pass: c.n}
	return err
}

// entryAt is the entry of the plain file at that path of the disk.
func entryAt(ctx context.Context, at, path string) (e Entry, err error) {
	f, err := os.Open(at)
	if err != nil {
		return e, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return e, err
	}
	e = entryOf(path, info)
	e.SHA256, e.Size, err = sum(ctx, f)
	return e, err
}

// entryOf is the entry of a path, without its content.
func entryOf(path string, info fs.FileInfo) Entry {
	e := Entry{Path: path, Mode: info.Mode().Perm(), Time: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.UID, e.GID = int(st.Uid), int(st.Gid)
	}
	return e
}
