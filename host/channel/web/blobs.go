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

// blobs stores the bytes of files, and counts the bytes of each chat.
type blobs struct {
	*blob.Store

	mu   sync.Mutex
	used map[string]int64 // bytes by chat
}

// staged is a blob that no row names yet. The caller calls commit or drop in the end; drop
// after commit does nothing.
type staged struct {
	blob.Blob
	blobs *blobs // nil once it is committed or dropped
}

// openBlobs moves files without a row in the history aside. A crash between a file's
// rename and its row leaves such a file.
func openBlobs(ctx context.Context, dir string, s *store, log *slog.Logger) (_ *blobs, err error) {
	b := &blobs{used: map[string]int64{}}
	if b.Store, err = blob.Open(filepath.Join(dir, "files")); err != nil {
		return nil, err
	}
	if err := errors.Join(b.UseRows(ctx, s.db), b.sweep(ctx, s, log)); err != nil {
		return nil, errors.Join(fmt.Errorf("open the files: %w", err), b.Close())
	}
	return b, nil
}

// sweep counts the bytes of each chat and moves orphans aside.
func (b *blobs) sweep(ctx context.Context, s *store, log *slog.Logger) error {
	known := map[string]bool{}
	stored, err := s.storedFiles()
	if err != nil || s.db.Made {
		return err
	}
	for _, f := range stored {
		known[f.id] = true
		b.used[f.chat] += f.size
	}
	deleted, err := s.deletedFiles()
	if err != nil {
		return err
	}
	_, err = b.Sweep(ctx, s.spec, known, deleted, log)
	return err
}

// stage stores at most limit bytes of r, see [blob.Store.Stage].
func (b *blobs) stage(ctx context.Context, r io.Reader, limit int64, progress func(int64)) (*staged, error) {
	made, err := b.Stage(ctx, r, limit, progress)
	if err != nil {
		return nil, err
	}
	return &staged{made, b}, nil
}

// commit marks the rows of a chat's files as durable: drop no longer deletes the files.
func (b *blobs) commit(chat string, files []*staged) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range files {
		b.used[chat] += s.Size
		s.blobs = nil
	}
}

// free returns the free bytes of the disk, if known.
func (b *blobs) free() (int64, bool) {
	n, _, err := b.Space()
	return n, err == nil
}

// usedBy returns the bytes of a chat's files.
func (b *blobs) usedBy(chat string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used[chat]
}

// above lists the chats whose files exceed that many bytes.
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

// remove deletes the files of deleted messages. Downloads in progress continue. Files that
// cannot be deleted now are left to the sweep at the next start.
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

// drop deletes the file unless it is committed. A failure leaves an orphan for the sweep.
func (s *staged) drop() {
	if s != nil && s.blobs != nil {
		_ = s.blobs.Remove(s.Name)
		s.blobs = nil
	}
}
