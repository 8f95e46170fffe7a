// Package blob keeps the bytes of files that the host has accepted: those of
// deliveries, in the outbox, and those that a chat page shows, in the web
// channel.
//
// A [Store] is a directory, and a table in the database beside it. A blob never
// changes: its bytes are written once, synced, and only read from then on. The
// records that name blobs are the caller's, in the same database.
//
//	<dir>/<name>        a blob of 32 lower-case hex digits: whole, and synced
//	<dir>/<name>.part   a copy that is being written, or that a crash cut off
//	bytes               the table of the blobs of at most [Small] bytes; their names
//	                    are <row, 16 hex digits>-<random, 16 hex digits>
//
// The bytes of a small blob come and go in the same commit as the record that
// names it, see [Insert] and [Delete], so a crash leaves none without a record.
//
// The life of a blob, as the caller of a Store sees it:
//
//  1. [Store.Stage] or [Store.Snapshot] makes it. The name is not durable yet.
//  2. [Store.Publish] and [Store.Keep] make it durable. Then the caller commits the
//     record that names the blob. In this order no record names bytes that a power
//     loss takes away.
//  3. [Store.Open] reads it.
//  4. [Store.Remove] deletes it, after the record that no longer needs it is
//     committed. [Store.Discard] deletes one that no record has ever named.
//  5. [Store.Sweep], at the next start, finds what a crash left between these
//     steps.
//
// With [OpenShared], blobs above [Small] lie in a [Place] that several hosts share, and the
// directory has copies of them.
//
// Blobs never change. So a blob that goes from one store to another on the same
// file system is not copied: Stage gives its bytes a second name.
package blob

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// partSuffix marks a copy that is not whole.
const partSuffix = ".part"

// The errors that a caller must tell apart. ErrTooLarge is permanent.
var (
	ErrChanged  = errors.New("the file changed while it was copied") // temporary: open the file again and copy it again
	ErrTooLarge = errors.New("larger than allowed")
)

// Store is a directory of blobs. Its methods may be called concurrently.
type Store struct {
	path string
	dir  *os.File     // the same directory, to sync it
	row  *sql.Stmt    // reads a small blob; nil: all blobs are files
	last atomic.Int64 // the newest row

	shared *shared // nil: the directory has the only bytes

	mu   sync.Mutex
	held bool
	late []string // what Remove deletes once the store is not held
}

// Blob describes a new blob.
type Blob struct {
	Name   string
	SHA256 string // of the stored bytes, in hex
	Size   int64
	Head   []byte // the first stored bytes, up to media.HeadSize
	Bytes  []byte // of a small blob, for Insert; nil: they are in the directory
}

// File is a blob that is open for reading.
type File struct{ *os.File }

// Open opens a directory of blobs. It creates the directory, with mode 0700, if
// it is missing. A link is an error: it would lead Sweep to files that are not the
// host's. The caller closes the Store.
func Open(dir string) (*Store, error) {
	d, err := openReal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			d, err = openReal(dir)
		}
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%s is a link or no directory (%w); put a directory in its place; if the files lie on another disk, mount that there", dir, safefs.Reason(err))
	}
	if err != nil {
		return nil, fmt.Errorf("open the directory of files: %w", err)
	}
	return &Store{path: dir, dir: d}, nil
}

func openReal(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// Close closes the directory.
func (s *Store) Close() error {
	var err error
	if s.row != nil {
		err = s.row.Close()
	}
	return errors.Join(err, s.dir.Close())
}

// Keep makes the names of all present blobs durable. Those of a shared store are, once they are
// published.
func (s *Store) Keep() error {
	if s.shared != nil {
		return nil
	}
	if err := s.dir.Sync(); err != nil {
		return fmt.Errorf("sync the directory of files: %w", err)
	}
	return nil
}

// Open opens a blob, for the caller to close. A blob that is no row is a *File.
// The error is fs.ErrNotExist if there is no such blob, or if name is not a
// blob's name. sum is the SHA-256 that the record has, in hex, and size the number of
// bytes: a shared store fetches these first, until ctx is done, and never returns others. If it cannot, the error
// is a *Trouble.
func (s *Store) Open(ctx context.Context, name, sum string, size int64) (io.ReadSeekCloser, error) {
	if id, ok := rowOf(name); ok {
		return s.openRow(id)
	}
	if !IsName(name) {
		return nil, fs.ErrNotExist
	}
	if s.shared != nil {
		return opened(s.fetch(ctx, name, sum, size))
	}
	f, err := os.Open(s.file(name))
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// opened is f as an interface, which is nil with an error.
func opened(f *File, err error) (io.ReadSeekCloser, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Hold puts off what Remove deletes, until release is called: a backup links the blobs of one
// moment. One caller at a time may hold a store.
func (s *Store) Hold() (release func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	return func() error {
		s.mu.Lock()
		late := s.late
		s.held, s.late = false, nil
		s.mu.Unlock()
		return s.Remove(late...)
	}
}

// Remove deletes blobs in the directory and skips other names. A File that is open
// can still be read. A blob that cannot be deleted is left to Sweep.
func (s *Store) Remove(names ...string) error {
	if s.shared != nil {
		return s.dropped(names, false)
	}
	s.mu.Lock()
	held := s.held
	if held {
		s.late = append(s.late, names...)
	}
	s.mu.Unlock()
	if held {
		return nil
	}
	var errs []error
	for _, name := range names {
		if !IsName(name) {
			continue
		}
		if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("delete a file: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Discard deletes blobs that no record has ever named.
func (s *Store) Discard(names ...string) error {
	if s.shared != nil {
		return s.dropped(names, true)
	}
	return s.Remove(names...)
}

// Sweep compares the directory with the caller's records: known holds the names
// in the records, deleted the names whose records were deleted. Sweep deletes
// the blobs in deleted and the copies that a crash interrupted. It moves every
// other blob aside, see [store.Spec.Sweep], and logs that. It touches only plain files
// with the name of a blob or of a copy, and ends with an error when ctx is done. It
// returns the known names whose bytes are missing.
func (s *Store) Sweep(ctx context.Context, spec store.Spec, known, deleted map[string]bool, log *slog.Logger) (missing []string, err error) {
	entries, err := s.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the directory of files: %w", err)
	}
	found := make(map[string]bool, len(entries))
	var strange []string
	foreign := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := e.Name()
		found[name] = true
		stem, unfinished := strings.CutSuffix(name, partSuffix)
		switch {
		case known[name], strings.HasPrefix(strings.TrimPrefix(name, "."), spec.MarkerName()): // or its replacement that a crash cut off
		case !IsName(stem) || !e.Type().IsRegular():
			foreign++
		case deleted[name], unfinished:
			err = errors.Join(err, os.Remove(s.file(name)))
		default:
			strange = append(strange, name)
		}
	}
	for name := range known {
		if !found[name] && IsName(name) {
			missing = append(missing, name)
		}
	}
	if foreign > 0 {
		log.Warn("files that the host did not make lie in its directory; they stay there", "store", spec.Name, "files", foreign, "directory", s.path)
	}
	moved, failed := spec.Sweep(ctx, s.path, strange, time.Now())
	if failed != nil {
		log.Warn("cannot move files without a record aside", "store", spec.Name, "error", failed)
	}
	if moved.Names > 0 {
		log.Warn("files that no record names were moved aside; they are deleted later", "store", spec.Name,
			"files", moved.Names, "bytes", moved.Bytes, "to", moved.Dir, "after", store.KeepSwept.String())
	}
	return missing, errors.Join(err, ctx.Err())
}

// list reads the directory, which must still be no link.
func (s *Store) list(ctx context.Context) (all []fs.DirEntry, err error) {
	dir, err := openReal(s.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for {
		some, err := dir.ReadDir(1024)
		all = append(all, some...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

// Space returns how many bytes can still be written to the directory's file system, and
// how many it has in all. Those of a shared directory count if it has less, as they were
// when Reach last looked; a bucket has no bounds.
func (s *Store) Space() (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.path, &st); err != nil {
		return 0, 0, os.NewSyscallError("statfs", err)
	}
	free, total = int64(st.Bavail)*int64(st.Bsize), int64(st.Blocks)*int64(st.Bsize)
	if h := s.shared; h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.total > 0 && h.free < free {
			return h.free, h.total, nil
		}
	}
	return free, total, nil
}

// IsBlob reports whether s has the form of a blob's name.
func IsBlob(s string) bool {
	_, ok := rowOf(s)
	return ok || IsName(s)
}

// IsName reports whether s has the form of the name of a blob in the directory.
func IsName(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

func newName() string {
	var raw [16]byte
	rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}

func (s *Store) file(name string) string { return filepath.Join(s.path, name) }
