package move

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// FilesOptions say where a state's files above 16 KiB are, and where they go.
type FilesOptions struct {
	State    store.Spec
	Place    blob.Place
	Back     bool // from the place into the directory
	Log      *slog.Logger
	Now      time.Time
	Progress Progress
}

// FilesReport says which files were moved.
type FilesReport struct {
	Files int    `json:"files"`
	Lost  int    `json:"lost"` // files whose bytes were not there before
	Aside string `json:"aside,omitempty"`
}

// Files copies the files of a state to the place, or back, compares their hashes, and then notes in one commit
// where they are. What is in the directory is set aside then; what is in the place stays. If it is cut off, the
// next call goes on. The caller has the lease, if there is one. The error is store.ErrLocked while a host runs, or ErrMoved.
func Files(ctx context.Context, o FilesOptions) (r FilesReport, err error) {
	place := o.Place
	if !o.Back {
		place = nil // the files are in the directory still
	}
	db, err := state.OpenAt(ctx, o.State, place, o.Log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sums, err := db.FileSums(ctx)
	if err != nil {
		return r, err
	}
	var mark string
	if err := db.Do(ctx, func(t *state.Tx) (err error) { mark, err = blob.ReadMark(t); return err }, nil); err != nil {
		return r, err
	}
	switch {
	case (mark == "") == o.Back:
		return r, ErrMoved
	case o.Back:
		return r, o.bring(ctx, db, mark, sums, &r)
	}
	return r, o.send(ctx, db, slices.Sorted(maps.Keys(sums)), &r)
}

func (o *FilesOptions) path(name string) string {
	return filepath.Join(o.State.Dir, o.State.Files, name)
}

// send copies the files to the place.
func (o *FilesOptions) send(ctx context.Context, db *state.DB, names []string, r *FilesReport) error {
	var mark string
	if err := db.Do(ctx, func(t *state.Tx) (err error) { mark, err = blob.NewMark(t, o.Place); return err }, nil); err != nil {
		return err
	}
	there, err := o.claim(ctx, mark, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		o.Progress.Say("copy file %d of %d", i+1, len(names))
		switch err := o.put(ctx, name, there[name]); {
		case errors.Is(err, fs.ErrNotExist):
			r.Lost++
		case err != nil:
			return fmt.Errorf("copy a file: %w", err)
		default:
			r.Files++
		}
	}
	o.Progress.Say("note where the files are")
	if err := db.Do(ctx, func(t *state.Tx) error { return blob.WriteMark(t, mark) }, nil); err != nil {
		return err
	}
	var m store.Moved
	for _, name := range names {
		if err := m.TakeAside(o.State, o.path(name), o.Now); err != nil {
			return err
		}
	}
	r.Aside = m.Dir
	return nil
}

// claim marks the place, which must be empty, or finds the mark of an earlier call. there are the files that
// it has copied.
func (o *FilesOptions) claim(ctx context.Context, mark string, names []string) (there map[string]bool, err error) {
	if err := blob.Claim(ctx, o.Place, o.State.Dir, mark); err != nil { // a place without it cannot be listed
		return nil, err
	}
	ours := map[string]bool{blob.Marker: true}
	for _, name := range names {
		ours[name] = true
	}
	there = map[string]bool{}
	for name, err := range o.Place.List(ctx) {
		if err == nil && !ours[blob.Whole(name)] {
			err = errors.Join(errors.New("the place that state.files names has other files: name an empty one"), o.Place.Remove(ctx, blob.Marker))
		}
		if err != nil {
			return nil, err
		}
		there[name] = true
	}
	return there, nil
}

// put copies a file to the place, unless an earlier call has done so, and reads it back.
func (o *FilesOptions) put(ctx context.Context, name string, there bool) error {
	f, err := os.Open(o.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	want := [sha256.Size]byte(h.Sum(nil))
	if there {
		if got, err := o.sum(ctx, name); err == nil && got == want {
			return nil
		}
		if err := o.Place.Remove(ctx, name); err != nil {
			return err
		}
	}
	if err := o.Place.Put(ctx, name, f, size); err != nil {
		return err
	}
	got, err := o.sum(ctx, name)
	if err == nil && got != want {
		err = errors.New("the place has other bytes than were written")
	}
	return err
}

func (o *FilesOptions) sum(ctx context.Context, name string) ([sha256.Size]byte, error) {
	h := sha256.New()
	err := o.Place.Get(ctx, name, h)
	return [sha256.Size]byte(h.Sum(nil)), err
}

// bring copies the files with these hashes into the directory.
func (o *FilesOptions) bring(ctx context.Context, db *state.DB, mark string, sums map[string]string, r *FilesReport) error {
	if err := db.Blobs.Reach(ctx, mark); err != nil {
		return err
	}
	for i, name := range slices.Sorted(maps.Keys(sums)) {
		o.Progress.Say("copy file %d of %d", i+1, len(sums))
		switch err := o.get(ctx, name, sums[name]); {
		case errors.Is(err, fs.ErrNotExist):
			r.Lost++
		case err != nil:
			return fmt.Errorf("copy a file: %w", err)
		default:
			r.Files++
		}
	}
	if err := safefs.SyncDir(o.path("")); err != nil {
		return err
	}
	o.Progress.Say("note where the files are")
	return db.Do(ctx, blob.LeavePlace, nil)
}

// get copies a file into the directory, if its bytes are those of the record, and reads it back.
func (o *FilesOptions) get(ctx context.Context, name, sum string) error {
	part := o.path(name) + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	got, again := sha256.New(), sha256.New()
	if err = o.Place.Get(ctx, name, io.MultiWriter(f, got)); err == nil && sum != "" && hex.EncodeToString(got.Sum(nil)) != sum {
		err = fmt.Errorf("the place has other bytes than were accepted: %s; restore that file there from a backup or an earlier version, or delete it there if it is lost, and repeat this", name)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(again, f)
	}
	if err == nil && string(got.Sum(nil)) != string(again.Sum(nil)) {
		err = errors.New("the disk has other bytes than were written")
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, o.path(name))
}
