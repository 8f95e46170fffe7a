// Package backup copies an installation while its host runs, checks such a copy, and
// makes an installation of it again.
//
//	<dir>/longshore-<time>/           a backup; it gets this name when it is whole and synced
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
	Keep    int    // how many backups stay in Dir; 0: all
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
}

const (
	prefix  = "longshore-"
	partial = ".partial"
	named   = "20060102T150405Z"
)

// ErrBusy says that another process makes a backup in the same directory.
var ErrBusy = errors.New("another process makes a backup there")

// Take makes a backup. If it fails, nothing of the backup is left.
func Take(ctx context.Context, o Options) (r Report, err error) {
	dir, lock, err := o.enter()
	if err != nil {
		return r, err
	}
	defer lock.Close()
	if err := o.room(dir); err != nil {
		return r, err
	}
	temp, err := os.MkdirTemp(dir, "."+prefix+"*"+partial)
	if err != nil {
		return r, fmt.Errorf("make a backup: %w", store.Words(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a backup: %w", store.Words(err)), os.RemoveAll(temp))
		}
	}()
	r.Dir = filepath.Join(dir, prefix+o.Now.UTC().Format(named))
	if _, err := os.Lstat(r.Dir); err == nil {
		return r, fmt.Errorf("%s exists; wait a second", r.Dir)
	}
	if err := o.fill(ctx, temp, &r); err != nil {
		return r, err
	}
	if err := safefs.SyncVolume(temp); err != nil {
		return r, err
	}
	if err := errors.Join(os.Rename(temp, r.Dir), safefs.SyncDir(dir)); err != nil {
		return r, err
	}
	r.Gone, err = o.expire(dir)
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
		if _, inside := safefs.Below(private, dir); inside {
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

// room refuses a backup that would not fit.
func (o Options) room(dir string) error {
	var need int64
	same := safefs.SameVolume(dir, o.Layout.State)
	for _, private := range o.Layout.Private() {
		need += store.Allocated(private)
	}
	if same { // linked, and so there already
		for _, s := range o.Stores {
			if s.Files != "" {
				need -= store.Allocated(filepath.Join(s.Dir, s.Files))
			}
		}
		need += o.Reserve
	}
	v, err := safefs.VolumeOf(dir)
	if err != nil || v.Total == 0 || int64(v.Free) >= need {
		return nil // a system that does not say; or enough
	}
	return fmt.Errorf("make a backup: %w: it needs %s, and %s has %s free", store.ErrFull, media.Size(need), dir, media.Size(int64(v.Free)))
}

// fill does the steps of the package's documentation.
func (o Options) fill(ctx context.Context, temp string, r *Report) (err error) {
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
	return writeManifest(filepath.Join(temp, manifestName), header, c.sorted())
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

// expire deletes the oldest backups, so that Keep are left.
func (o Options) expire(dir string) (gone []string, err error) {
	all, globErr := filepath.Glob(filepath.Join(dir, prefix+"*", manifestName))
	if o.Keep <= 0 || globErr != nil {
		return nil, globErr
	}
	slices.Sort(all)
	for _, manifest := range all[:max(0, len(all)-o.Keep)] {
		old := filepath.Dir(manifest)
		if _, err := time.Parse(named, strings.TrimPrefix(filepath.Base(old), prefix)); err != nil {
			continue // not one of ours
		}
		if err := os.Remove(manifest); err != nil && !errors.Is(err, fs.ErrNotExist) { // from here it looks like none
			return gone, err
		}
		if err := os.RemoveAll(old); err != nil {
			return gone, err
		}
		gone = append(gone, old)
	}
	return gone, nil
}
