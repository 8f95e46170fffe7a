package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// chunk is what is read at once at most, in bytes.
const chunk = 256 << 10

// copyTo writes at most limit bytes of f to a new file, which only this user can read,
// and leaves holes for zeros, so that a sparse file stays small. holes is that of each.
func copyTo(ctx context.Context, path string, f *os.File, limit int64, holes *int64) (sha string, size int64, err error) {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", 0, err
	}
	sha, size, err = each(ctx, f, limit, holes, func(b []byte, at int64) error {
		if zeros(b) {
			return nil
		}
		_, err := to.WriteAt(b, at)
		return err
	})
	if err == nil {
		err = to.Truncate(size) // zeros at the end were not written
	}
	return sha, size, errors.Join(err, to.Close())
}

// open opens a file of a backup, which may come from anywhere: a pipe does not make it wait.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", filepath.Base(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sum reads a file.
func sum(ctx context.Context, f *os.File) (sha string, size int64, err error) {
	return each(ctx, f, math.MaxInt64, nil, func([]byte, int64) error { return nil })
}

// errHoles says that a file has more holes than a backup may hash.
var errHoles = errors.New("the file has more holes than a backup reads")

// each calls do with the data of at most limit bytes of f, piece by piece, and returns the
// hash of all these bytes. Holes are not read, but hashed. holes, which may be nil, is how
// many bytes of holes may still be; the error is errHoles if there are more.
func each(ctx context.Context, f *os.File, limit int64, holes *int64, do func(b []byte, at int64) error) (sha string, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	h, b, none := sha256.New(), make([]byte, max(1, min(chunk, info.Size()))), []byte(nil) // most files are small
	for begin, end := int64(0), int64(0); size < limit; {
		if err := ctx.Err(); err != nil {
			return "", size, err
		}
		if size >= end {
			if begin, end, err = dataFrom(f, size); err != nil {
				return "", size, err
			}
			begin = min(begin, limit)
			if holes != nil {
				if begin-size > *holes {
					return "", size, errHoles
				}
				*holes -= begin - size
			}
		}
		if size < begin {
			if none == nil {
				none = make([]byte, chunk)
			}
			n := min(begin-size, chunk)
			h.Write(none[:n])
			size += n
			continue
		}
		n, err := f.ReadAt(b[:min(end-size, limit-size, int64(len(b)))], size)
		h.Write(b[:n])
		if err := do(b[:n], size); err != nil {
			return "", size, err
		}
		size += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", size, err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
