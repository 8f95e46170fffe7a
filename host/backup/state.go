package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/move"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// sizes is how many times the size of the database must be free for its backup: the copy, and the
// log that grows on the state's disk meanwhile.
const sizes = 3

// TakeState makes a backup of db and the configuration alone, in the process of the host that has
// db open. No writer waits for it. Blobs are linked; a disk that cannot link leaves them out. A
// backup of a damaged database fails. A directory of the operator's must be there: its disk may not
// be mounted. If TakeState fails, nothing of the backup is left.
func TakeState(ctx context.Context, o Options, db *state.DB) (Report, error) {
	if _, err := os.Stat(o.Dir); err != nil && o.Dir != o.Layout.Backups() {
		return Report{}, fmt.Errorf("backup.directory: %w; make the directory, or mount its disk", err)
	}
	form, err := formOf(db)
	if err != nil {
		return Report{}, err
	}
	return o.take(ctx, form, stateAlone{o, db, form}.fill)
}

// formOf is how the names of a state's backups begin. Hosts that share a directory each have their own.
func formOf(db *state.DB) (string, error) {
	id, err := db.Spec.Home.ID()
	return prefix + cmp.Or(id, "00000000")[:8] + "-", err
}

// stateAlone makes a backup without workspaces.
type stateAlone struct {
	Options
	db   *state.DB
	form string // of its name
}

func (s stateAlone) fill(ctx context.Context, temp string, r *Report) error {
	spec := s.db.Spec
	if err := s.room(sizes * databaseBytes(ctx, spec)); err != nil {
		return err
	}
	own, _ := safefs.Below(s.Layout.State, spec.Dir)
	to := filepath.Join(temp, stateDir, own)
	blobs := filepath.Join(to, spec.Files)
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return err
	}
	header := Header{Format: format, Taken: time.Now().UTC(), Program: s.Program, StateAlone: true}
	one, err := s.db.Snapshot(ctx, func(path string) error { return r.link(path, blobs) })
	if err != nil {
		return err
	}
	copied := filepath.Join(to, spec.File)
	if err := errors.Join(move.CopyTo(ctx, one, copied), one.Close()); err != nil { // the log grows no longer
		return err
	}
	if err := store.CheckCopy(ctx, copied); err != nil { // else damage would drive the last good backup out
		return err
	}
	if _, err := copyExtra(ctx, temp, configName, s.Config); err != nil {
		return err
	}
	rel, _ := safefs.Below(temp, copied)
	header.Stores, header.LeftOut = []StoreEntry{{Name: spec.Name, Path: filepath.ToSlash(rel), Version: one.Version}}, r.LeftOut
	return s.manifest(ctx, temp, header, r)
}

// databaseBytes is how much a store's database takes.
func databaseBytes(ctx context.Context, s store.Spec) int64 {
	if s.OnServer() {
		return store.PlanOf(ctx, s).Bytes
	}
	path := filepath.Join(s.Dir, s.File)
	return store.Allocated(path) + store.Allocated(path+"-wal")
}

// link gives a blob a second name in the directory to.
func (r *Report) link(path, to string) error {
	switch err := os.Link(path, filepath.Join(to, filepath.Base(path))); {
	case err == nil, errors.Is(err, fs.ErrExist): // it is named twice
		return nil
	case errors.Is(err, fs.ErrNotExist): // it was lost before; the host has said so
		return nil
	case errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMLINK), errors.Is(err, errors.ErrUnsupported):
		r.LeftOut++
		return nil
	default:
		return err
	}
}

// manifest writes the manifest of all that lies in temp. Blobs that the last backup has are not
// hashed again: they never change.
func (s stateAlone) manifest(ctx context.Context, temp string, h Header, r *Report) error {
	err := filepath.WalkDir(temp, func(string, fs.DirEntry, error) error { h.Entries++; return ctx.Err() })
	if err != nil {
		return err
	}
	h.Entries-- // temp itself
	before, err := backups(filepath.Dir(temp), s.form)
	if err != nil {
		return err
	}
	last := hashes{}
	if len(before) > 0 {
		if last.manifest, err = openManifest(before[len(before)-1].path); err == nil { // a damaged one only costs time
			defer last.Close()
		}
	}
	return writeManifest(ctx, temp, h, func(yield func(Entry, error) bool) {
		err := filepath.WalkDir(temp, func(at string, d fs.DirEntry, err error) error {
			path, _ := safefs.Below(temp, at)
			if err != nil || path == "" || path == "." || path == manifestName {
				return err
			}
			e, err := last.entry(ctx, at, filepath.ToSlash(path), d)
			if err == nil && e.file() {
				r.Files, r.Bytes = r.Files+1, r.Bytes+e.Size
			}
			if !yield(e, err) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Entry{}, err)
		}
	})
}

// hashes are those of an earlier backup, in the order of paths.
type hashes struct{ *manifest }

// entry is the entry of a path that comes after those of the calls before.
func (h hashes) entry(ctx context.Context, at, path string, d fs.DirEntry) (Entry, error) {
	info, err := d.Info()
	if err != nil {
		return Entry{}, err
	}
	e := entryOf(path, info)
	if e.Dir = d.IsDir(); e.Dir {
		return e, nil
	}
	if !blob.IsName(d.Name()) || h.manifest == nil {
		return entryAt(ctx, at, path)
	}
	for h.at.Path < path && h.next() {
		continue
	}
	if h.at.Path != path || h.at.Size != info.Size() {
		return entryAt(ctx, at, path)
	}
	e.Size, e.SHA256 = h.at.Size, h.at.SHA256
	return e, nil
}
