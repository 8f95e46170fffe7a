package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/host/store"
)

// database copies a store's database from its snapshot.
func (c *copier) database(s store.Snapshot) (StoreEntry, error) {
	path := c.rel(filepath.Join(s.Dir, s.File))
	at := StoreEntry{Name: s.Name, Path: stateDir + "/" + path, Version: s.Version}
	if err := s.CopyTo(c.ctx, c.target(path)); err != nil {
		return at, err
	}
	return at, c.record(path, stateDir+"/"+path, c.target(path), "")
}

// extra copies a file that lies outside the state directory.
func (c *copier) extra(temp, name, from string) error {
	to := filepath.Join(temp, filepath.FromSlash(name))
	f, err := os.Open(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		var size int64
		if _, size, err = copyTo(c.ctx, to, f, maxExtra+1, nil); err == nil && size > maxExtra {
			err = errors.New("it has more than 1 MiB")
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if name == configName {
		from = ""
	}
	return c.record("/"+name, name, to, from)
}

// record adds the entry of a file that was written without a pass.
func (c *copier) record(key, path, at, from string) error {
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	e := c.add(key, info)
	e.Path, e.From = path, from
	e.SHA256, e.Size, err = sum(c.ctx, f)
	return err
}
