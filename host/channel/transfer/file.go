package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge ends a transfer that brings too many bytes. It is permanent.
var ErrTooLarge = errors.New("more bytes come than were announced, or than a member's file may have")

// reserveStep is the number of bytes for which File reserves space at a time.
const reserveStep = 1 << 20

// File accepts at most Most bytes, whatever a server or a member says about
// their number, and reserves disk space as the bytes arrive. It hides that it
// is an *os.File, so that nobody reserves space for a claimed size in advance.
type File struct {
	*os.File
	Most int64 // the largest size

	// Reserve is called before bytes are written. The reservation ends when the
	// bytes are on the disk, where the file system counts them.
	Reserve Reserve

	asked int64 // size up to which space was reserved
}

// Write appends at the file's offset.
func (f *File) Write(p []byte) (int, error) {
	at, err := f.File.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	end := at + int64(len(p))
	if end > f.Most {
		return 0, ErrTooLarge
	}
	if end > f.asked && f.Reserve != nil {
		step := max(end-f.asked, min(reserveStep, f.Most-f.asked))
		release, err := f.Reserve(step)
		if err != nil {
			return 0, fmt.Errorf("make room: %w", err)
		}
		defer release()
		f.asked += step
	}
	return f.File.Write(p)
}

// ReadFrom hides os.File's method, which would not call Write.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}
