package outbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

// Blob is a file's bytes in the outbox. They are kept once a Put has recorded
// the delivery that names them.
type Blob struct {
	Name   string // 32 lower-case hex digits
	SHA256 string
	Size   int64
	Head   []byte // its first bytes, up to media.HeadSize: of what is kept, whatever the file was before or after
}

const (
	// chunk is how much is copied before it is hashed and its write-back
	// begins, while the next one is copied.
	chunk = 1 << 20

	// settledFor is how old a change must be before a copy starts. File
	// systems stamp changes with the clock's last tick; a change within the
	// same tick as the copy would not show (see CopyFile).
	settledFor = 20 * time.Millisecond
)

// Copy keeps exactly size bytes of r, hashed on the way and synced. A reader
// that ends earlier, or has more, gives ErrChanged. The caller discards the
// Blob if it does not hand it to Put.
func (o *Outbox) Copy(ctx context.Context, r io.Reader, size int64) (Blob, error) {
	return o.newBlob(size, func(dst *os.File) (string, error) {
		sum := sha256.New()
		n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(dst, sum)},
			&contextReader{ctx, io.LimitReader(r, size)}, make([]byte, 256<<10))
		switch {
		case err != nil:
			return "", err
		case n < size:
			return "", ErrChanged
		}
		if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
			return "", errors.Join(ErrChanged, err)
		}
		return hexSum(sum), nil
	})
}

// CopyFile keeps a file as it is now, from its start, or returns ErrChanged:
// the file is not size bytes long, or somebody wrote to it meanwhile. The
// kernel copies, as a clone where the file system has that, and what is hashed
// is the copy. The change time is what tells of writers, since it cannot be
// set back; a file that changed just now is waited for, for at most 20 ms.
func (o *Outbox) CopyFile(ctx context.Context, f *os.File, size int64) (Blob, error) {
	before, err := stampOf(f)
	if err != nil {
		return Blob{}, err
	}
	if before.size != size {
		return Blob{}, ErrChanged
	}
	if wait := settledFor - time.Since(before.changed); wait > 0 {
		select {
		case <-ctx.Done():
			return Blob{}, ctx.Err()
		case <-time.After(min(wait, settledFor)):
		}
	}
	b, err := o.newBlob(size, func(dst *os.File) (string, error) { return snapshot(ctx, dst, f, size) })
	if err != nil {
		return Blob{}, err
	}
	after, err := stampOf(f)
	if err == nil && after != before {
		err = ErrChanged
	}
	if err != nil {
		o.Discard(b)
		return Blob{}, err
	}
	return b, nil
}

// Discard forgets a blob that no Put was given.
func (o *Outbox) Discard(b Blob) { o.removeBlobs([]string{b.Name}) }

// newBlob makes a file, lets fill write it, and syncs it. The directory is
// synced by the commit of the Put that names the blob.
func (o *Outbox) newBlob(size int64, fill func(dst *os.File) (sum string, err error)) (b Blob, err error) {
	var name [16]byte
	rand.Read(name[:])
	b = Blob{Name: hex.EncodeToString(name[:]), Size: size}
	dst, err := os.OpenFile(o.blobPath(b.Name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return Blob{}, fmt.Errorf("keep a file: %w", err)
	}
	defer func() {
		if err != nil {
			dst.Close()
			o.removeBlobs([]string{b.Name})
			b = Blob{}
		}
	}()
	if b.SHA256, err = fill(dst); err != nil {
		return b, fmt.Errorf("keep a file: %w", err)
	}
	b.Head = make([]byte, min(size, media.HeadSize))
	if _, err := dst.ReadAt(b.Head, 0); err != nil {
		return b, fmt.Errorf("read a kept file: %w", err)
	}
	if err := dst.Sync(); err != nil {
		return b, fmt.Errorf("keep a file: %w", err)
	}
	if err := dst.Close(); err != nil {
		return b, fmt.Errorf("keep a file: %w", err)
	}
	return b, nil
}

func (o *Outbox) blobPath(name string) string {
	return filepath.Join(o.opts.Dir, filesDir, name)
}

// openBlob is how a channel reads what it sends.
func (o *Outbox) openBlob(name string) func() (io.ReadSeekCloser, error) {
	return func() (io.ReadSeekCloser, error) { return os.Open(o.blobPath(name)) }
}

// removeBlobs removes files that no record needs. What cannot be removed now
// is removed at the next start.
func (o *Outbox) removeBlobs(names []string) {
	for _, name := range names {
		if err := os.Remove(o.blobPath(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			o.opts.Log.Warn("remove a file that was sent", "error", err)
		}
	}
}

// stamp is what changes when a file does.
type stamp struct {
	size     int64
	changed  time.Time
	modified time.Time
}

// hashBehind hashes dst as far as ready says that it is written.
func hashBehind(dst io.ReaderAt, ready <-chan int64) <-chan hashed {
	out := make(chan hashed, 1)
	go func() {
		sum := sha256.New()
		buf := make([]byte, 256<<10)
		var at int64
		var err error
		for end := range ready {
			if err == nil {
				_, err = io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{io.NewSectionReader(dst, at, end-at)}, buf)
				at = end
			}
		}
		out <- hashed{hexSum(sum), err}
	}()
	return out
}

type hashed struct {
	sum string
	err error
}

// snapshot copies size bytes of src chunk by chunk, hashing each chunk of the
// copy while the next is copied.
func snapshot(ctx context.Context, dst, src *os.File, size int64) (string, error) {
	at, err := reflink(dst, src, size)
	if err != nil {
		return "", err
	}
	ready := make(chan int64, 16)
	result := hashBehind(dst, ready)
	ready <- at
	for at < size && err == nil {
		var n int64
		n, err = copyRange(dst, src, at, min(chunk, size-at))
		switch {
		case err == nil && n == 0:
			err = ErrChanged
		case err == nil:
			startWriteback(dst, at, n)
			at += n
			ready <- at
			err = ctx.Err()
		}
	}
	close(ready)
	h := <-result
	return h.sum, errors.Join(err, h.err)
}

// copyPlain copies n bytes at the same offset through memory.
func copyPlain(dst, src *os.File, at, n int64) (int64, error) {
	return io.Copy(struct{ io.Writer }{io.NewOffsetWriter(dst, at)}, struct{ io.Reader }{io.NewSectionReader(src, at, n)})
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
