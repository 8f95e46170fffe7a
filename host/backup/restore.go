package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Checked says what a backup has.
type Checked struct {
	Header
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Wrong   []string `json:"wrong,omitempty"` // what is missing or has other bytes
	Strange []string `json:"not_in_manifest,omitempty"`
}

// Verify reads a whole backup and compares it with its manifest. The error is of a
// backup that cannot be read at all.
func Verify(ctx context.Context, dir string) (c Checked, err error) {
	if dir, err = filepath.Abs(dir); err != nil { // a database is opened by a URI, whose path is absolute
		return c, fmt.Errorf("verify a backup: %w", err)
	}
	known := map[string]bool{manifestName: true}
	c.Header, err = readManifest(dir, func(e Entry) error {
		known[e.Path] = true
		if !e.file() {
			return ctx.Err()
		}
		c.Files++
		c.Bytes += e.Size
		if err := e.same(ctx, dir); err != nil {
			c.Wrong = append(c.Wrong, fmt.Sprintf("%s: %v", e.Path, err))
		}
		return ctx.Err()
	})
	if err != nil {
		return c, fmt.Errorf("verify a backup: %w", err)
	}
	for _, s := range c.Stores {
		if !known[s.Path] {
			c.Wrong = append(c.Wrong, s.Path+": not in the manifest")
		} else if err := store.CheckCopy(ctx, filepath.Join(dir, filepath.FromSlash(s.Path))); err != nil {
			c.Wrong = append(c.Wrong, fmt.Sprintf("%s: %v", s.Path, err))
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := safefs.Below(dir, path); err == nil && !d.IsDir() && !known[rel] {
			c.Strange = append(c.Strange, rel)
		}
		return err
	})
	return c, err
}

// same compares a file of the backup with its entry.
func (e Entry) same(ctx context.Context, dir string) error {
	f, err := open(filepath.Join(dir, filepath.FromSlash(e.Path)))
	if err != nil {
		return safefs.Reason(err)
	}
	defer f.Close()
	sha, size, err := sum(ctx, f)
	if err == nil && (sha != e.SHA256 || size != e.Size) {
		err = errOtherBytes
	}
	return err
}

var errOtherBytes = errors.New("it has other bytes than when the backup was made")

// Restoring says where a backup goes.
type Restoring struct {
	Backup string
	Config string // path for longshore.yaml; an existing file stays as it is
	Into   Installation
}

// Installation is what a backup is restored to.
type Installation interface {
	// LayoutOf says where the files of a configuration lie.
	LayoutOf(config string) (groups.Layout, error)

	// Prepare is called with the layout of the restored files before they are in place,
	// and with the moment of the backup.
	Prepare(ctx context.Context, l groups.Layout, taken time.Time) error
}

// Restored says what a restore has done.
type Restored struct {
	Taken   time.Time `json:"taken"`
	State   string    `json:"state"`
	Config  string    `json:"config"`             // empty: the existing one stayed
	Secrets []string  `json:"secrets"`            // where the files were that the backup has as secrets/0, secrets/1 and so on
	LeftOut int       `json:"left_out,omitempty"` // blobs that the state names and the backup does not have
}

// Restore makes an installation of a backup. The state directory must be missing or
// empty; for a backup of the state alone, it is enough that it has no state. Every file is
// compared with the manifest before anything is put in place; if that fails, nothing of the
// restore is left.
func Restore(ctx context.Context, r Restoring) (done Restored, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore a backup: %w", store.Words(err))
		}
	}()
	h, err := readHeader(r.Backup)
	if err != nil {
		return done, err
	}
	undo, err := r.config(&done)
	if err != nil {
		return done, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, undo())
		}
	}()
	l, err := r.Into.LayoutOf(r.Config)
	if err != nil {
		return done, err
	}
	done.State, done.LeftOut = l.State, h.LeftOut
	beside, err := r.vacant(ctx, l, h)
	if err != nil {
		return done, err
	}
	moved := l.Restoring()
	temp := moved.State
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o700)); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := r.fill(ctx, temp, &done); err != nil {
		return done, err
	}
	from, to := moved.Private(), l.Private()
	if beside {
		if from, to, err = besides(l, moved); err != nil {
			return done, err
		}
	}
	if err := r.Into.Prepare(ctx, moved, done.Taken); err != nil {
		return done, err
	}
	if err := safefs.SyncVolume(temp); err != nil {
		return done, err
	}
	return done, place(from, to)
}

// vacant returns an error if a backup would overwrite something. beside says that a state directory
// without a state is to get one.
func (r Restoring) vacant(ctx context.Context, l groups.Layout, h Header) (beside bool, err error) {
	for _, dir := range l.Private() {
		if left, err := safefs.ReadDir(dir); err != nil || len(left) == 0 {
			continue
		}
		if !h.StateAlone {
			return false, fmt.Errorf("%s is not empty: stop the host and move the directory away, or set state: in %s to another one", dir, r.Config)
		}
		beside = true
	}
	if !beside {
		return false, nil
	}
	spec := state.Spec(l.Own(), store.Home{Installation: l.Installation(), Aside: l.Aside()})
	if there, err := store.Examine(ctx, spec, false); there || err != nil {
		return false, fmt.Errorf("%s has a state, or the rest of one: stop the host, then: longshore store set-aside state", l.Own())
	}
	return true, nil
}

// besides returns where the restored parts of a state are, and the places that they get in l. The
// restored state then belongs to the installation that l has, or is refused.
func besides(l, moved groups.Layout) (from, to []string, err error) {
	parts, err := safefs.ReadDir(moved.Own())
	if err != nil {
		return nil, nil, err
	}
	for _, part := range parts {
		from, to = append(from, filepath.Join(moved.Own(), part.Name())), append(to, filepath.Join(l.Own(), part.Name()))
	}
	id, err := os.ReadFile(filepath.Join(l.Installation(), "id"))
	if errors.Is(err, fs.ErrNotExist) {
		return from, to, nil
	}
	if err == nil {
		err = os.Mkdir(moved.Installation(), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(moved.Installation(), "id"), id, 0o600)
	}
	return from, to, err
}

// config writes the configuration if there is none.
func (r Restoring) config(done *Restored) (undo func() error, err error) {
	undo = func() error { return nil }
	if _, err := os.Lstat(r.Config); !errors.Is(err, fs.ErrNotExist) {
		return undo, err
	}
	f, err := open(filepath.Join(r.Backup, configName))
	if err != nil {
		return undo, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxExtra+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return undo, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Config), 0o750); err != nil {
		return undo, err
	}
	done.Config = r.Config
	return func() error { return os.Remove(r.Config) }, safefs.WriteFile(r.Config, text, 0o600)
}

// fill copies the backup's state directory to temp.
func (r Restoring) fill(ctx context.Context, temp string, done *Restored) error {
	var dirs []Entry
	links := map[string]bool{}
	h, err := readManifest(r.Backup, func(e Entry) error {
		rel, ok := strings.CutPrefix(e.Path, stateDir)
		switch {
		case e.From != "":
			done.Secrets = append(done.Secrets, e.From)
			return nil
		case e.Path == configName && done.Config != "":
			if err := e.same(ctx, r.Backup); err != nil {
				return fmt.Errorf("%s: %w", e.Path, err)
			}
			return nil
		case !ok || rel != "" && rel[0] != '/':
			return nil
		}
		for up := filepath.Dir(e.Path); up != "."; up = filepath.Dir(up) {
			if links[up] {
				return fmt.Errorf("the manifest has %q behind a link", e.Path)
			}
		}
		links[e.Path] = e.Target != ""
		to := filepath.Join(temp, filepath.FromSlash(rel))
		if e.Dir {
			dirs = append(dirs, e)
			return os.MkdirAll(to, 0o700)
		}
		if err := e.put(ctx, r.Backup, to); err != nil {
			return fmt.Errorf("%s: %w", e.Path, safefs.Reason(err))
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- { // the inner ones first: one may not be writable
		err = dirs[i].dress(filepath.Join(temp, filepath.FromSlash(strings.TrimPrefix(dirs[i].Path, stateDir))))
	}
	done.Taken = h.Taken
	return err
}

// put copies one entry of the backup, and compares its bytes.
func (e Entry) put(ctx context.Context, backup, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if e.Target != "" {
		return os.Symlink(e.Target, to)
	}
	f, err := open(filepath.Join(backup, filepath.FromSlash(e.Path)))
	if err != nil {
		return err
	}
	defer f.Close()
	sha, size, err := copyTo(ctx, to, f, e.Size+1, nil)
	if err == nil && (sha != e.SHA256 || size != e.Size) {
		err = errOtherBytes
	}
	if err != nil {
		return err
	}
	return e.dress(to)
}

// dress gives a file or directory its owner, mode and time. Only root can give files to
// others; for everybody else they are their own.
func (e Entry) dress(path string) error {
	var err error
	if os.Geteuid() == 0 {
		err = os.Lchown(path, e.UID, e.GID)
	}
	at := time.Unix(0, e.Time)
	return errors.Join(err, os.Chmod(path, e.Mode), os.Chtimes(path, at, at))
}

// place renames what was restored. Until the last one is in its place, no host
// starts: see [groups.Layout.Interrupted]. If one cannot be renamed, the others go back.
func place(all, places []string) (err error) {
	var back []func() error
	defer func() {
		if err != nil {
			for _, rename := range back {
				err = errors.Join(err, rename())
			}
		}
	}()
	for i, from := range all {
		to := places[i]
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if there, err := os.Lstat(to); err == nil && !there.IsDir() { // a forged backup may have any name
			return fmt.Errorf("%s is there already: move it away", to)
		}
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was empty
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o750), os.Rename(from, to)); err != nil {
			return err
		}
		back = append(back, func() error { return os.Rename(to, from) })
		if err := safefs.SyncDir(filepath.Dir(to)); err != nil {
			return err
		}
	}
	return nil
}
