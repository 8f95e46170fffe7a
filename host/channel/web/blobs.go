package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/media"
)

const (
	partSuffix = ".part"
	copyChunk  = 1 << 20 // bytes between two looks at limits and progress
)

// errTooLarge is what stage returns when the reader holds more than it may.
var errTooLarge = errors.New("larger than allowed")

// blobs holds the bytes of files.
type blobs struct {
	root *os.Root
	dir  *os.File // the same directory, to sync it

	mu   sync.Mutex
	used map[string]int64 // bytes by chat
}

// staged is a file that is on the disk, whole and synced, under its .part
// name. Exactly one of keep and drop is called in the end; drop after keep
// does nothing.
type staged struct {
	blobs  *blobs
	ID     string
	Size   int64
	SHA256 string
	kept   bool
}

// openBlobs sweeps what has no row in the history: files that a crash left
// between their rename and their row, and those that never came so far.
func openBlobs(dir string, s *store) (*blobs, error) {
	dir = filepath.Join(dir, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("web: make file directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("web: open file directory: %w", err)
	}
	b := &blobs{root: root, used: map[string]int64{}}
	if b.dir, err = root.Open("."); err == nil {
		err = b.sweep(s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("web: sweep file directory: %w", err), b.close())
	}
	return b, nil
}

func (b *blobs) sweep(s *store) error {
	known := map[string]bool{}
	if err := s.eachFile(func(chat, id string, size int64) {
		known[id] = true
		b.used[chat] += size
	}); err != nil {
		return err
	}
	for {
		names, err := b.dir.Readdirnames(1024)
		for _, name := range names {
			if known[name] {
				continue
			}
			if err := b.root.Remove(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (b *blobs) close() error {
	var errs []error
	if b.dir != nil {
		errs = append(errs, b.dir.Close())
	}
	return errors.Join(append(errs, b.root.Close())...)
}

// stage copies r to the disk, at most limit bytes of it, and syncs them.
// progress, which may be nil, is told the bytes so far.
func (b *blobs) stage(ctx context.Context, r io.Reader, limit int64, progress func(int64)) (_ *staged, err error) {
	var raw [16]byte
	// Since Go 1.24 Read cannot fail.
	_, _ = rand.Read(raw[:])
	s := &staged{blobs: b, ID: hex.EncodeToString(raw[:])}
	f, err := b.root.OpenFile(s.ID+partSuffix, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store file: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("store file: %w", cerr)
		}
		if err != nil {
			s.drop()
		}
	}()
	h := follow(f)
	s.Size, err = copyTo(ctx, f, r, limit, func(n int64) {
		h.written <- n
		if progress != nil {
			progress(n)
		}
	})
	close(h.written)
	if err == nil {
		err = wrap("store file", f.Sync())
	}
	sum := <-h.sum
	if err == nil {
		err = wrap("read file back", sum.err)
	}
	if err != nil {
		return nil, err
	}
	s.SHA256 = sum.hex
	return s, nil
}

// copyTo copies in chunks with io.CopyN, which leaves the work to the kernel
// when r is a file too.
func copyTo(ctx context.Context, f *os.File, r io.Reader, limit int64, progress func(int64)) (int64, error) {
	var n int64
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := io.CopyN(f, r, min(copyChunk, limit+1-n))
		n += m
		if n > limit {
			return n, errTooLarge
		}
		if m > 0 {
			progress(n)
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("store file: %w", err)
		}
	}
}

// follower hashes a file while it is being written and synced.
type follower struct {
	written chan int64 // how far the file has come; closed by the writer
	sum     chan sum   // one value, after written is closed
}

type sum struct {
	hex string
	err error
}

// follow reads the bytes back from memory behind the writer. What is hashed
// is what was stored, not what was meant to be.
func follow(f *os.File) follower {
	w := follower{written: make(chan int64, 64), sum: make(chan sum, 1)}
	go func() {
		h := sha256.New()
		var at int64
		var err error
		for to := range w.written {
			if err == nil {
				_, err = io.Copy(h, io.NewSectionReader(f, at, to-at))
			}
			at = to
		}
		w.sum <- sum{hex.EncodeToString(h.Sum(nil)), err}
	}()
	return w
}

// wrap keeps nil nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// open returns the staged bytes; the caller closes them.
func (s *staged) open() (*os.File, error) {
	if s.kept {
		return s.blobs.root.Open(s.ID)
	}
	return s.blobs.root.Open(s.ID + partSuffix)
}

// head is the file's first bytes, for classification.
func (s *staged) head() ([]byte, error) {
	f, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, media.HeadSize))
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return head, nil
}

// keep gives files their final names, durably. What fails half-way is for
// drop and, after a crash, for the sweep.
func (b *blobs) keep(files []*staged) error {
	for _, s := range files {
		if err := b.root.Rename(s.ID+partSuffix, s.ID); err != nil {
			return fmt.Errorf("store file: %w", err)
		}
		s.kept = true
	}
	if len(files) == 0 {
		return nil
	}
	if err := b.dir.Sync(); err != nil {
		return fmt.Errorf("store file: %w", err)
	}
	return nil
}

// settle says that the rows of a chat's kept files are durable: drop no longer
// takes them.
func (b *blobs) settle(chat string, files []*staged) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range files {
		b.used[chat] += s.Size
		s.blobs = nil
	}
}

// usedBy is how many bytes a chat's files have.
func (b *blobs) usedBy(chat string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used[chat]
}

// above lists the chats whose files have more than so many bytes.
func (b *blobs) above(bytes int64) (chats []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for chat, used := range b.used {
		if used > bytes {
			chats = append(chats, chat)
		}
	}
	return chats
}

// remove removes the files of messages that are deleted. Who reads one goes on
// reading. What could not be removed is for the sweep of the next start.
func (b *blobs) remove(chat string, gone []forgotten) error {
	var errs []error
	for _, f := range gone {
		if f.file == "" {
			continue
		}
		b.mu.Lock()
		b.used[chat] -= f.size
		b.mu.Unlock()
		if err := b.root.Remove(f.file); err != nil {
			errs = append(errs, fmt.Errorf("remove file: %w", err))
		}
	}
	return errors.Join(errs...)
}

// drop removes the file unless it is settled. A failure leaves an orphan for
// the sweep.
func (s *staged) drop() {
	if s == nil || s.blobs == nil {
		return
	}
	name := s.ID + partSuffix
	if s.kept {
		name = s.ID
	}
	_ = s.blobs.root.Remove(name)
	s.blobs = nil
}

func (b *blobs) open(id string) (*os.File, error) {
	if strings.ContainsAny(id, "/.") {
		return nil, os.ErrNotExist
	}
	return b.root.Open(id)
}
