package transfer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Reserve reserves room for so many more bytes on the disk until release, which may be called
// again. It returns an error if the disk has no room. A nil Reserve always succeeds.
type Reserve func(bytes int64) (release func(), err error)

// Scratch is a directory for temporary bytes, such as ciphertext. Its files have no name: they are
// deleted when they are closed, even by a crash. A temporary error is a *channel.Error.
type Scratch struct {
	dir     string
	reserve Reserve
}

// OpenScratch creates the directory, for the host's user only, and deletes the
// files that a crash left in it. No other program may use it.
func OpenScratch(dir string, reserve Reserve) (*Scratch, error) {
	err := os.MkdirAll(dir, 0o700)
	left, readErr := safefs.ReadDir(dir)
	err = errors.Join(err, readErr)
	for _, e := range left { // a crash between creation and unlinking
		if strings.HasPrefix(e.Name(), unnamedPrefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("clear temporary files: %w", err)
	}
	return &Scratch{dir: dir, reserve: reserve}, nil
}

// File makes a file and reserves room for so many bytes until release.
func (s *Scratch) File(bytes int64) (f *os.File, release func(), err error) {
	release = func() {}
	if s.reserve != nil {
		if release, err = s.reserve(bytes); err != nil {
			return nil, nil, &channel.Error{Class: channel.Passing, Code: "no_room", Hint: channel.Again, Err: err,
				Message: "the host has no room for its copy of the file at the moment"}
		}
	}
	if f, err = s.unnamed(); err != nil {
		release()
		return nil, nil, err
	}
	return f, release, nil
}

// Bounded makes a file that takes at most so many bytes, and reserves room as they arrive.
func (s *Scratch) Bounded(most int64) (*File, error) {
	f, err := s.unnamed()
	if err != nil {
		return nil, err
	}
	return &File{File: f, Most: most, Reserve: s.reserve}, nil
}

// unnamedPrefix begins the names of the files until they are unlinked.
const unnamedPrefix = "bytes-"

func (s *Scratch) unnamed() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, unnamedPrefix+"*") // 0600
	if err != nil {
		return nil, OrDiskFull(fmt.Errorf("make temporary file: %w", err), err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make temporary file: %w", err), f.Close())
	}
	return f, nil
}

// DiskFull reports whether err means a full disk.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// OrDiskFull returns a disk_full error, which passes, if cause is a full disk, and otherwise err.
func OrDiskFull(err, cause error) error {
	if DiskFull(cause) {
		return &channel.Error{Class: channel.Passing, Code: "disk_full", Message: "the host's disk is full", Hint: channel.Again, Err: cause}
	}
	return err
}

// Changed returns the permanent error of a file whose bytes are not those that were accepted.
func Changed(name string, cause error) error {
	return &channel.Error{Class: channel.Permanent, Code: "content_changed",
		Message: fmt.Sprintf("%q is no longer what was accepted", name), Hint: "send the file again", Err: cause}
}
