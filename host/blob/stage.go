package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

const (
	// chunk is how many bytes are copied at a time. While the next chunk is
	// copied, the last one is hashed and written to the disk.
	chunk = 1 << 20

	// writerQuiet is how old the last change of a file must be that a program keeps open
	// for writing, such as a log. A write that began before is over by then.
	writerQuiet = time.Second
)

// Stage makes a blob from everything in r. The error is ErrTooLarge if r has
// more than limit bytes. An error of r is returned wrapped, an error of the
// disk as an *fs.PathError. progress, which may be nil, is called with the
// number of bytes so far. If r is a File of a store on the same file system, at
// its start, its bytes are linked instead of copied.
func (s *Store) Stage(ctx context.Context, r io.Reader, limit int64, progress func(int64)) (Blob, error) {
	if progress == nil {
		progress = func(int64) {}
	}
	if f, ok := r.(*File); ok {
		if b, err := s.link(ctx, f, limit, progress); !errors.Is(err, errNoLink) {
			return b, err
		}
		r = f.File // the kernel can copy
	} else if s.row != nil {
		b, all, err := s.stageSmall(r, limit)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return Blob{}, err
		}
		if all == nil {
			progress(b.Size)
			return b, nil
		}
		r = all
	}
	return s.add(func(dst *os.File, wrote func(int64)) error {
		var n int64
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := io.CopyN(dst, r, min(chunk, limit+1-n))
			n += m
			if n > limit {
				return ErrTooLarge
			}
			if m > 0 {
				wrote(n)
				progress(n)
			}
			if err == io.EOF { //nolint:errorlint // CopyN's own; a wrapped one is of a source that was cut
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// Snapshot makes a blob from the present content of a file. The error is
// ErrChanged if the file is not size bytes long, or if somebody writes to it
// during the copy. The kernel makes the copy, as a clone if the file system
// can; the hash is that of the copy.
//
// A read lease shows that nobody has the file open for writing, and keeps a writer
// waiting until the copy is made. If the kernel grants none, the file is read again after
// the copy, and both must be the same. In either case its change time, which nobody can
// set back, must stay the same.
func (s *Store) Snapshot(ctx context.Context, f *os.File, size int64) (Blob, error) {
	release, leased, err := leaseOf(f)
	if err != nil {
		return Blob{}, err
	}
	defer release()
	before, err := stampOf(f)
	if err != nil {
		return Blob{}, err
	}
	if before.size != size {
		return Blob{}, ErrChanged
	}
	if s.row != nil && size <= Small {
		return s.snapshotSmall(f, before, leased)
	}
	return s.add(func(dst *os.File, wrote func(int64)) error {
		err := copyFile(ctx, dst, f, size, wrote)
		if err == nil && !leased {
			err = sameBytes(ctx, dst, f, size)
		}
		if err != nil {
			return err
		}
		return unchanged(f, before)
	})
}

// leaseOf tries to take a lease on f. If it returns leased, nobody has f open for writing,
// and nobody can write to it before release is called. Without an error, release is never
// nil. The error is ErrChanged if a program has f open for writing and wrote lately.
func leaseOf(f *os.File) (release func(), leased bool, err error) {
	granted, writer := takeLease(f)
	if granted {
		return func() { dropLease(f) }, true, nil
	}
	if writer {
		st, err := stampOf(f)
		if err == nil && time.Since(st.changed) < writerQuiet {
			err = ErrChanged
		}
		if err != nil {
			return nil, false, err
		}
	}
	return func() {}, false, nil
}

// unchanged returns ErrChanged if f was changed since before was taken.
func unchanged(f *os.File, before stamp) error {
	after, err := stampOf(f)
	if err == nil && after != before {
		err = ErrChanged
	}
	return err
}

// sameBytes returns ErrChanged unless the first size bytes of a and b are the same.
func sameBytes(ctx context.Context, a, b io.ReaderAt, size int64) error {
	one, two := make([]byte, min(size, 256<<10)), make([]byte, min(size, 256<<10))
	for at := int64(0); at < size; at += int64(len(one)) {
		n := min(size-at, int64(len(one)))
		if _, err := a.ReadAt(one[:n], at); err != nil {
			return fmt.Errorf("read a stored file: %w", err)
		}
		if m, err := b.ReadAt(two[:n], at); int64(m) < n && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read a file again: %w", err)
		} else if int64(m) < n || !bytes.Equal(one[:n], two[:n]) {
			return ErrChanged
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// stamp changes when a file does.
type stamp struct {
	size     int64
	changed  time.Time
	modified time.Time
}

// copyFile copies size bytes of src chunk by chunk.
func copyFile(ctx context.Context, dst, src *os.File, size int64, wrote func(int64)) error {
	at, err := reflink(dst, src, size)
	if err != nil {
		return err
	}
	for wrote(at); at < size; wrote(at) {
		n, err := copyRange(dst, src, at, min(chunk, size-at))
		if err == nil && n == 0 {
			err = ErrChanged
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// copyPlain copies n bytes at the same offset through memory.
func copyPlain(dst, src *os.File, at, n int64) (int64, error) {
	return io.Copy(struct{ io.Writer }{io.NewOffsetWriter(dst, at)}, struct{ io.Reader }{io.NewSectionReader(src, at, n)})
}

// add makes a blob from the bytes that fill writes to dst. fill calls wrote
// with the number of bytes written so far; these are hashed while fill
// continues.
func (s *Store) add(fill func(dst *os.File, wrote func(int64)) error) (b Blob, err error) {
	b.Name = newName()
	s.freshen(b.Name)
	part := s.file(b.Name + partSuffix)
	dst, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return Blob{}, fmt.Errorf("keep a file: %w", err)
	}
	defer func() {
		if closed := dst.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = os.Rename(part, s.file(b.Name))
		}
		if err != nil {
			b, err = Blob{}, errors.Join(fmt.Errorf("keep a file: %w", err), os.Remove(part))
			return
		}
		s.made(b, "")
	}()
	written, sum := hashBehind(dst)
	err = fill(dst, func(n int64) {
		if n > b.Size {
			startWriteback(dst, b.Size, n-b.Size)
		}
		b.Size = n
		written <- n
	})
	close(written)
	if err == nil && s.shared == nil { // else the place makes it durable
		err = dst.Sync()
	}
	h := <-sum
	b.SHA256 = h.hex
	if err == nil {
		err = h.err
	}
	if err == nil {
		b.Head, err = head(dst, b.Size)
	}
	return b, err
}

// errNoLink means that a file has to be copied.
var errNoLink = errors.New("the file cannot be linked")

// link gives the bytes of another store's blob a name in this one. The bytes
// were synced when they were staged; only the new name is not durable yet. The
// error is errNoLink if f is not at its start, is on another file system, or
// has no name any more.
func (s *Store) link(ctx context.Context, f *File, limit int64, progress func(int64)) (b Blob, err error) {
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		return Blob{}, errNoLink
	}
	b.Name = newName()
	s.freshen(b.Name)
	path := s.file(b.Name)
	if os.Link(f.Name(), path) != nil {
		return Blob{}, errNoLink
	}
	defer func() {
		if err != nil {
			b, err = Blob{}, errors.Join(err, os.Remove(path))
			return
		}
		s.made(b, filepath.Base(f.Name()))
	}()
	linked, err := os.Lstat(path)
	if err != nil {
		return b, fmt.Errorf("keep a file: %w", err)
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(linked, opened) {
		return b, errNoLink
	}
	if b.Size = linked.Size(); b.Size > limit {
		return b, ErrTooLarge
	}
	written, sum := hashBehind(f)
	for at := int64(0); at < b.Size && ctx.Err() == nil; progress(at) {
		at = min(at+chunk, b.Size)
		written <- at
	}
	close(written)
	h := <-sum
	b.SHA256 = h.hex
	if err := errors.Join(ctx.Err(), h.err); err != nil {
		return b, fmt.Errorf("keep a file: %w", err)
	}
	b.Head, err = head(f, b.Size)
	return b, err
}

// hashBehind hashes the bytes of r, up to the numbers sent to written, and
// returns the hash after written is closed. It reads the bytes from the disk,
// so that the hash is that of the stored bytes.
func hashBehind(r io.ReaderAt) (written chan<- int64, sum <-chan hashed) {
	ends, out := make(chan int64, 64), make(chan hashed, 1)
	go func() {
		h := sha256.New()
		var buf []byte
		var at int64
		var err error
		for end := range ends {
			if buf == nil && end > 0 {
				buf = make([]byte, min(end, 256<<10))
			}
			if err == nil && end > at {
				_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{io.NewSectionReader(r, at, end-at)}, buf)
				at = end
			}
		}
		out <- hashed{hex.EncodeToString(h.Sum(nil)), err}
	}()
	return ends, out
}

type hashed struct {
	hex string
	err error
}

func head(r io.ReaderAt, size int64) ([]byte, error) {
	b := make([]byte, min(size, media.HeadSize))
	if _, err := r.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("read a stored file: %w", err)
	}
	return b, nil
}
