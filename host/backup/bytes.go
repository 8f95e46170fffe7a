package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// chunk is what is read at once, in bytes.
const chunk = 256 << 10

// copyTo writes at most limit bytes of f to a new file, which only this user can read,
// and leaves holes for zeros, so that a sparse file stays small.
func copyTo(ctx context.Context, path string, f *os.File, limit int64) (sha string, size int64, err error) {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", 0, err
	}
	sha, size, err = each(ctx, io.LimitReader(f, limit), func(b []byte, at int64) error {
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
	return each(ctx, f, func([]byte, int64) error { return nil })
}

func each(ctx context.Context, r io.Reader, do func(b []byte, at int64) error) (sha string, size int64, err error) {
	var h hash.Hash = sha256.New()
	b := make([]byte, chunk)
	for {
		if err := ctx.Err(); err != nil {
			return "", size, err
		}
		n, err := io.ReadFull(r, b)
		h.Write(b[:n])
		if err := do(b[:n], size); err != nil {
			return "", size, err
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return hex.EncodeToString(h.Sum(nil)), size, nil
		}
		if err != nil {
			return "", size, err
		}
	}
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
