package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// WriteResult replaces the result of a request. The file is not synced, as the
// caller keeps the durable record. A link or a directory in its place is replaced,
// never followed. Errors are temporary, except for an invalid id or an unknown
// folder.
func (s *Spool) WriteResult(folder string, r ipc.Result) error {
	if !ipc.ValidID(r.ID) {
		return fmt.Errorf("write result: %s is not a valid request id", ipc.Printable(r.ID))
	}
	if r.Time.IsZero() {
		r.Time = time.Now().UTC()
	}
	s.note(folder, r.ID+ipc.Suffix)
	g, err := s.writeJSON(folder, inResults, r.ID+ipc.Suffix, r)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	s.trace(folder, r.ID, "result")
	g.tell()
	s.wrote(g)
	return nil
}

// Result reads back the result of a request. ok is false if there is none or it
// cannot be read.
func (s *Spool) Result(folder, id string) (r ipc.Result, ok bool) {
	g, known := s.all()[folder]
	if !known || !ipc.ValidID(id) {
		return ipc.Result{}, false
	}
	s.rouse(g)
	err := g.dirs.in(inResults, func(dir *os.Root) error {
		b, _, err := readRequest(dir, id+ipc.Suffix) // does not block on a pipe in its place
		if err == nil {
			err = json.Unmarshal(b, &r)
		}
		return err
	})
	return r, err == nil
}

// WriteContext replaces the group's context.json, unless only its time would change.
func (s *Spool) WriteContext(folder string, c ipc.Context) error {
	if s.tells(folder, c) {
		return nil
	}
	if _, err := s.writeJSON(folder, inContext, ipc.ContextFile, c); err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	return nil
}

// tells reports whether the group's context.json already equals c, apart from its time.
func (s *Spool) tells(folder string, c ipc.Context) bool {
	g, ok := s.all()[folder]
	if !ok {
		return false
	}
	s.rouse(g)
	var now ipc.Context
	err := g.dirs.in(inContext, func(dir *os.Root) error {
		b, _, err := readRequest(dir, ipc.ContextFile) // does not block on a pipe in its place
		if err == nil {
			err = json.Unmarshal(b, &now)
		}
		return err
	})
	now.Time = c.Time
	was, _ := json.Marshal(now)
	is, _ := json.Marshal(c)
	return err == nil && bytes.Equal(was, is)
}

func (s *Spool) writeJSON(folder string, p place, name string, v any) (*group, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return s.write(folder, p, name, append(b, '\n'))
}

// write replaces one file. If the open directory turns out to have been replaced,
// write tries once more in the new one.
func (s *Spool) write(folder string, p place, name string, b []byte) (*group, error) {
	g, ok := s.all()[folder]
	if !ok {
		return nil, fmt.Errorf("group %s: %w", folder, ErrNotServed)
	}
	s.rouse(g)
	put := func(dir *os.Root) error { return replaceFile(dir, name, b) }
	err := g.dirs.in(p, put)
	if errors.Is(err, fs.ErrNotExist) {
		g.dirs.verify()
		err = g.dirs.in(p, put)
	}
	return g, err
}

// replaceFile writes to a new file with a random name and renames it. A link planted
// at either name is not followed. Nothing is synced.
func replaceFile(dir *os.Root, name string, b []byte) error {
	tmp := temporary()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, 0o644) // O_NONBLOCK as in openSelf
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if info, statErr := f.Stat(); err == nil && (statErr != nil || info.Mode().Perm() != 0o644) { // because of the umask
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		if err = dir.Rename(tmp, name); err != nil {
			if info, lerr := dir.Lstat(name); lerr == nil && info.IsDir() {
				// The directory is moved aside whole, as its content is the container's
				// and may be of any size.
				if err = dir.Rename(name, temporary()); err == nil {
					err = dir.Rename(tmp, name)
				}
			}
		}
	}
	if err != nil {
		_ = dir.Remove(tmp) // best effort; pruning deletes the rest
	}
	return err
}

const temporaryPrefix = ".tmp-"

func temporary() string { return temporaryPrefix + strconv.FormatUint(rand.Uint64(), 36) }

// placeOf splits an Item's name into directory and file name.
func placeOf(name string) (place, string) {
	if file, ok := strings.CutPrefix(name, ipc.FilesDir+"/"); ok {
		return inFiles, file
	}
	return inMessages, name
}
