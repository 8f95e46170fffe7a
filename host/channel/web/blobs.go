package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/longshore-bridge/longshore/host/blob"
)

// blobs holds the bytes of files, and counts those of each chat.
type blobs struct {
	*blob.Store

	mu   sync.Mutex
	used map[string]int64 // bytes by chat
}

// staged is a blob that no row names yet. Exactly one of settle and drop is
// called in the end; drop after settle does nothing.
type staged struct {
	blob.Blob
	blobs *blobs // nil once it is settled or dropped
}

// openBlobs sweeps what has no row in the history. A file that nobody knows may
// be one that a crash left between its rename and its row; it is moved aside.
func openBlobs(dir string, s *store, log *slog.Logger) (_ *blobs, err error) {
	b := &blobs{used: map[string]int64{}}
	if b.Store, err = blob.Open(filepath.Join(dir, "files")); err != nil {
		return nil, err
	}
	if err := errors.Join(b.UseRows(context.Background(), s.db), b.sweep(s, log)); err != nil {
		return nil, errors.Join(fmt.Errorf("open the files: %w", err), b.Close())
	}
	return b, nil
}

func (b *blobs) sweep(s *store, log *slog.Logger) error {
	known := map[string]bool{}
	held, err := s.heldFiles()
	if err != nil || s.db.Made {
		return err
	}
	for _, f := range held {
		known[f.id] = true
		b.used[f.chat] += f.size
	}
	deleted, err := s.deletedFiles()
	if err != nil {
		return err
	}
	_, err = b.Sweep(s.spec, known, deleted, log)
	return err
}

// stage keeps what r holds, at most limit bytes of it, see [blob.Store.Stage].
func (b *blobs) stage(ctx context.Context, r io.Reader, limit int64, progress func(int64)) (*staged, error) {
	made, err := b.Stage(ctx, r, limit, progress)
	if err != nil {
		return nil, err
	}
	return &staged{made, b}, nil
}

// settle says that the rows of a chat's files are durable: drop no longer
// takes the files.
func (b *blobs) settle(chat string, files []*staged) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range files {
		b.used[chat] += s.Size
		s.blobs = nil
	}
}

// free is how many bytes of the disk are left, as far as that is known.
func (b *blobs) free() (int64, bool) {
	n, err := b.Free()
	return n, err == nil
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

// remove deletes the files of messages that are deleted. Whoever reads one
// goes on reading. What could not be deleted is for the sweep of the next
// start.
func (b *blobs) remove(chat string, gone []forgotten) error {
	var names []string
	b.mu.Lock()
	for _, f := range gone {
		if f.file != "" {
			b.used[chat] -= f.size
			names = append(names, f.file)
		}
	}
	b.mu.Unlock()
	return b.Remove(names...)
}

// drop deletes the file unless it is settled. A failure leaves an orphan for
// the sweep.
func (s *staged) drop() {
	if s != nil && s.blobs != nil {
		_ = s.blobs.Remove(s.Name)
		s.blobs = nil
	}
}
