// Package backup copies an installation while its host runs, checks such a copy, and
// makes an installation of it again.
//
//	<dir>/longshore-<time>/           a backup; it gets this name when it is whole and synced
//	<dir>/longshore-<id>-<time>/      a daily one of the state alone, see [Daily]; <id> begins the installation's id
//	  manifest.jsonl                  what the backup has, see [Header] and [Entry]
//	  longshore.yaml                  the configuration
//	  secrets/<n>                     files that the configuration names, if asked for
//	  state/...                       the state directory
//	<dir>/.longshore-*.partial        a backup that is being made, or that a crash cut off
//
// # One moment
//
// All that a host decides by is of one moment in the copy, although the host goes on:
//
//  1. Everything is copied, while the host works. Accepted files, which never change,
//     are linked if the backup is on the same file system.
//  2. What has changed since is copied again.
//  3. The stores are frozen: for this moment nobody commits. What has changed since 2 is
//     opened, and what is gone is removed from the backup. A request leaves the queue, and a
//     file leaves a store, only after a commit, so none of them can be missed. The snapshots
//     of the databases begin.
//  4. The stores are thawed. The databases are copied from the snapshots, the files from
//     the descriptors that step 3 has opened.
//
// The workspaces, homes and logs are copied in step 1 alone: they are not of that
// moment, as after a crash.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// Options say what to copy.
type Options struct {
	Dir     string // gets the backup; created if it is missing
	Config  string // path of longshore.yaml
	Secrets []string
	Layout  groups.Layout
	Stores  []store.Spec
	Program string // the program's version
	Reserve int64  // bytes that stay free if Dir is on the disk of the state
	Keep    int    // how many backups of this kind stay in Dir; 0: all
	Now     time.Time
}

// Report says what a backup has.
type Report struct {
	Dir    string        `json:"directory"`
	Files  int           `json:"files"`
	Bytes  int64         `json:"bytes"` // of the files, linked ones too
	Frozen time.Duration `json:"frozen_ns"`
	Unread []string      `json:"unreadable,omitempty"` // paths below the state directory that could not be read
	Sparse []string      `json:"holes,omitempty"`      // paths that were left out for their holes
	Gone   []string      `json:"deleted,omitempty"`    // older backups that Keep deleted

	LeftOut int `json:"left_out,omitempty"` // blobs that could not be linked, see TakeState
}

const (
	prefix  = "longshore-"
	partial = ".partial"
	named   = "20060102T150405Z"
)

// ErrBusy says that another process makes a backup in the same directory.
var ErrBusy = errors.New("another process makes a backup there")

// Take makes a backup of the whole installation. If it fails, nothing of the backup is left.
func Take(ctx context.Context, o Options) (Report, error) {
	return o.take(ctx, prefix, o.fill)
}

// take makes a backup whose name begins with form, of what fill puts into the directory temp.
func (o Options) take(ctx context.Context, form string, fill func(ctx context.Context, temp string, r *Report) error) (r Report, err error) {
	dir, lock, err := o.enter()
	if err != nil {
		return r, err
	}
	defer lock.Close()
	temp, err := os.MkdirTemp(dir, "."+prefix+"*"+partial)
	if err != nil {
		return r, fmt.Errorf("make a backup: %w", store.Words(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a backup: %w", store.Words(err)), os.RemoveAll(temp))
		}
	}()
	r.Dir = filepath.Join(dir, form+o.Now.UTC().Format(named))
	if _, err := os.Lstat(r.Dir); err == nil {
		return r, fmt.Errorf("%s exists; wait a second", r.Dir)
	}
	if err := fill(ctx, temp, &r); err != nil {
		return r, err
	}
	if err := safefs.SyncVolume(temp); err != nil {
		return r, err
	}
	if err := errors.Join(os.Rename(temp, r.Dir), safefs.SyncDir(dir)); err != nil {
		return r, err
	}
	r.Gone, err = o.expire(form, r.Dir)
	return r, err
}

// enter creates the directory of the backups, locks it, and deletes what a crash left.
func (o Options) enter() (dir string, lock *os.File, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make a backup: %w", store.Words(err))
		}
	}()
	if dir, err = filepath.Abs(o.Dir); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	for _, private := range o.Layout.Private() {
		if _, inside := safefs.Below(private, dir); inside && dir != o.Layout.Backups() {
			return "", nil, fmt.Errorf("%s lies in the state directory; name a directory elsewhere", dir)
		}
	}
	if lock, err = os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return "", nil, err
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return "", nil, errors.Join(ErrBusy, lock.Close())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "."+prefix+"*"+partial))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		err = errors.Join(err, lock.Close())
	}
	return dir, lock, err
}

// need is how many bytes a whole backup takes.
func (o Options) need(ctx context.Context) (bytes int64) {
	for _, private := range o.Layout.Private() {
		bytes += store.Allocated(private)
	}
	bytes -= store.Allocated(o.Layout.Backups())
	for _, s := range o.Stores {
		if s.OnServer() { // a file in the backup
			bytes += databaseBytes(ctx, s)
		}
		if s.Files != "" && safefs.SameVolume(o.Dir, o.Layout.State) { // linked, and so there already
			bytes -= store.Allocated(filepath.Join(s.Dir, s.Files))
		}
	}
	return bytes
}

// room refuses a backup that would not fit.
func (o Options) room(need int64) error {
	if safefs.SameVolume(o.Dir, o.Layout.State) {
		need += o.Reserve
	}
	v, err := safefs.VolumeOf(o.Dir)
	if err != nil || v.Total == 0 || int64(v.Free) >= need {
		return nil // a system that does not say; or enough
	}
	return fmt.Errorf("%w: it needs %s, and %s has %s free", store.ErrFull, media.Size(need), o.Dir, media.Size(int64(v.Free)))
}

// fill does the steps of the package's documentation.
func (o Options) fill(ctx context.Context, temp string, r *Report) (err error) {
	if err := o.room(o.need(ctx)); err != nil {
		return err
	}
	c := newCopier(ctx, o, filepath.Join(temp, stateDir))
	for _, hot := range []bool{false, true} {
		if err := c.pass(hot); err != nil {
			return err
		}
	}
	frozen, err := store.Freeze(ctx, o.Stores)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.release(), frozen.Close()) }()
	header := Header{Format: format, Taken: time.Now().UTC(), Program: o.Program}
	c.keepOpen = true
	if err := errors.Join(c.pass(true), frozen.Thaw()); err != nil {
		return err
	}
	if r.Frozen = time.Since(header.Taken); r.Frozen > longestFreeze {
		return fmt.Errorf("the stores had to wait for %s, which is too long: try again when there is less to do", r.Frozen.Round(time.Millisecond))
	}
	if err := c.copyOpened(); err != nil {
		return err
	}
	for _, s := range frozen.Snapshots() {
		at, err := c.database(s)
		if err != nil {
			return err
		}
		header.Stores = append(header.Stores, at)
	}
	if err := o.extras(c, temp); err != nil {
		return err
	}
	r.Unread = slices.Compact(slices.Sorted(slices.Values(c.unread)))
	r.Sparse = slices.Compact(slices.Sorted(slices.Values(c.sparse)))
	r.Files, r.Bytes = c.sum()
	all := c.sorted()
	header.Entries = len(all)
	return writeManifest(ctx, temp, header, func(yield func(Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// longestFreeze is less than the stores' busy_timeout, so that no commit of the host
// fails because of a backup that is kept.
const longestFreeze = 4 * time.Second

// extras copies the configuration, and the secrets that the operator wants copied.
func (o Options) extras(c *copier, temp string) error {
	if err := c.extra(temp, configName, o.Config); err != nil {
		return err
	}
	for i, path := range o.Secrets {
		if err := c.extra(temp, fmt.Sprintf("%s/%d", secretsDir, i), path); err != nil {
			return err
		}
	}
	return nil
}

// expire deletes the oldest backups of that form, so that Keep are left, but not the one at made.
// Those that a clock made that was ahead count as the oldest.
func (o Options) expire(form, made string) (gone []string, err error) {
	if o.Keep <= 0 {
		return nil, nil
	}
	all, err := backups(filepath.Dir(made), form)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(b taken) bool { return b.path == made })
	slices.SortStableFunc(all, func(a, b taken) int {
		switch ahead := a.at.After(o.Now); {
		case ahead == b.at.After(o.Now):
			return 0
		case ahead:
			return -1
		}
		return 1
	})
	for _, old := range all[:max(0, len(all)+1-o.Keep)] {
		manifest := filepath.Join(old.path, manifestName)
		if err := os.Remove(manifest); err != nil && !errors.Is(err, fs.ErrNotExist) { // from here it looks like none
			return gone, err
		}
		if err := os.RemoveAll(old.path); err != nil {
			return gone, err
		}
		gone = append(gone, old.path)
	}
	return gone, nil
}

// taken is a whole backup.
type taken struct {
	path string
	at   time.Time // of its name
}

// backups are the whole backups in dir of that form, the oldest first. A missing directory has none.
func backups(dir, form string) (all []taken, err error) {
	entries, err := safefs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), form)
		at, wrong := time.Parse(named, rest)
		path := filepath.Join(dir, e.Name())
		if _, missing := os.Lstat(filepath.Join(path, manifestName)); ok && wrong == nil && missing == nil && e.IsDir() {
			all = append(all, taken{path, at})
		}
	}
	return all, err
}
