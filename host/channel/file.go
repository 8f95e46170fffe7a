package channel

import (
	"bytes"
	"io"

	"github.com/longshore-bridge/longshore/media"
)

// File is a file of a Message: the outbox's own copy, which nobody else can change.
type File struct {
	media.Info
	SHA256 string // of the content, lower-case hex
	Content
}

// Content is the bytes of a file.
type Content interface {
	// Open returns a reader at the start; the caller closes it.
	Open() (io.ReadSeekCloser, error)
}

// Bytes is Content in memory.
type Bytes []byte

// Open implements Content.
func (b Bytes) Open() (io.ReadSeekCloser, error) { return nopCloser{bytes.NewReader(b)}, nil }

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }
