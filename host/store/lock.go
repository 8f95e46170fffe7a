package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

const (
	lookers   = 5 * time.Second // how long a writer waits for readers
	lockEvery = 10 * time.Millisecond
)

// Lock takes the lock that only one process can hold, and creates its file and
// the directory. The lock ends with the process, or when the caller closes the
// file. Readers hold the lock for a moment; Lock waits for them. If another
// process has the store, the error is an *Error of kind ErrLocked, and
// temporary.
func Lock(s Spec) (*os.File, error) {
	if err := s.places(); err != nil {
		return nil, err
	}
	if err := makeDir(s.Dir); err != nil {
		return nil, s.Explain("lock", err)
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.lockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, s.Explain("lock", err)
	}
	for deadline := time.Now().Add(lookers); ; {
		err := flock(f, unix.LOCK_EX)
		if err == nil {
			return f, nil
		}
		// A shared lock leaves other readers room while this process waits.
		if errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(deadline) && flock(f, unix.LOCK_SH) == nil {
			time.Sleep(lockEvery)
			continue
		}
		f.Close()
		return nil, s.ofLock(err)
	}
}

// writable refuses a database of which this user may not write a file. SQLite would open it to read,
// and a log that it makes beside it could not be written either.
func (s Spec) writable() error {
	for _, path := range s.parts() {
		if err := safefs.Writable(path, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &Error{
				Kind: ErrUnreadable, Store: s.Name, Message: fmt.Sprintf("%s, of the %s, cannot be read and written (%v)", path, s.Name, plain(err)),
				Remedy: finding.Remedy(err, path), Cause: err,
			}
		}
	}
	return nil
}

// lockToLook takes the lock together with other readers. It returns nil without
// an error if no process has ever locked the store, since then none uses it.
func (s Spec) lockToLook() (*os.File, error) {
	f, err := os.Open(s.lockPath())
	if errors.Is(err, os.ErrNotExist) || s.Lock == "" {
		return nil, nil
	}
	if err != nil {
		return nil, s.unreadable(err)
	}
	if err := flock(f, unix.LOCK_SH); err != nil {
		f.Close()
		return nil, s.ofLock(err)
	}
	return f, nil
}

// InUse reports whether a process has the store open for writing.
func InUse(s Spec) bool {
	lock, err := s.lockToLook()
	if lock != nil {
		lock.Close()
	}
	return errors.Is(err, ErrLocked)
}

func (s Spec) lockPath() string { return filepath.Join(s.Dir, s.Lock) }

func (s Spec) ofLock(err error) error {
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("lock the %s: %w", s.Name, err)
	}
	return &Error{
		Kind: ErrLocked, Store: s.Name, Message: "another process uses the store " + s.Name,
		Remedy: "stop that process first, or use its own commands",
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
