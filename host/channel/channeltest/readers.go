package channeltest

import (
	"bytes"
	"io"
	"sync/atomic"
)

// reader reads bytes and lets a test take part.
type reader struct {
	*bytes.Reader
	before func(off int64) error // called before each read; may be nil
	closed func()                // may be nil
}

func (r *reader) Read(p []byte) (int, error) {
	off := r.Size() - int64(r.Len())
	if r.before != nil {
		if err := r.before(off); err != nil {
			return 0, err
		}
		p = p[:min(len(p), 8<<10)] // small steps, so that a test meets the middle of the file
	}
	return r.Reader.Read(p)
}

// WriteTo hides that of bytes.Reader, which would pass all bytes at once.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{r})
}

func (r *reader) Close() error {
	if r.closed != nil {
		r.closed()
	}
	return nil
}

// counted opens data, asks before each read, and counts in open the readers
// that were not closed.
func counted(data []byte, open *atomic.Int64, before func(off int64) error) Opens {
	return func() (io.ReadSeekCloser, error) {
		open.Add(1)
		var once atomic.Bool
		return &reader{Reader: bytes.NewReader(data), before: before, closed: func() {
			if once.CompareAndSwap(false, true) {
				open.Add(-1)
			}
		}}, nil
	}
}
