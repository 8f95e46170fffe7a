package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLarge ends a transfer that brings more bytes than it may.
var ErrTooLarge = errors.New("more bytes come than were announced, or than a member's file may have")

// reserveStep is for how many bytes at a time File asks for room.
const reserveStep = 1 << 20

// File takes so many bytes and no more, whatever a server or a member says of
// their number, and asks for room on the disk as the bytes come. It hides that
// it is an *os.File, so that nobody makes room beforehand for a claimed size.
type File struct {
	*os.File
	Most int64 // the largest size

	// Reserve is asked before bytes are written. They are given back at once
	// when they lie on the disk, where the file system counts them.
	Reserve Reserve

	asked int64 // the size up to which room was asked for
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

// ReadFrom hides that of os.File, which would not ask Write.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}
