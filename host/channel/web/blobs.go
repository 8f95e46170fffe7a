package web

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/longshore-bridge/longshore/host/blob"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// blobs stores the bytes of files, and counts the bytes of each chat.
type blobs struct {
	*blob.Store

	mu   sync.Mutex
	used map[string]int64 // bytes by chat
	due  map[string]bool  // chats that may keep too much
}

// staged is a blob that no row names yet. The caller calls commit or drop in the end; drop
// after commit does nothing.
type staged struct {
	blob.Blob
	blobs *blobs // nil once it is committed or dropped
}

// openBlobs counts the bytes of each chat.
func openBlobs(ctx context.Context, s *store) (*blobs, error) {
	b := &blobs{Store: s.db.Blobs, used: map[string]int64{}, due: map[string]bool{}}
	_, err := list(ctx, s, func(rows *sql.Rows) (_ struct{}, err error) {
		var chat string
		var size int64
		err = rows.Scan(&chat, &size)
		b.used[chat] = size
		return struct{}{}, err
	}, "SELECT chat, SUM(size) FROM page_message WHERE channel = ? AND blob <> '' GROUP BY chat", s.name)
	return b, err
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

// mark marks a chat as one that may keep too much.
func (b *blobs) mark(chat string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due[chat] = true
}

// marked returns the marked chats, and those whose files exceed that many bytes. Their marks
// end.
func (b *blobs) marked(bytes int64) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	chats := b.due
	b.due = map[string]bool{}
	for chat, used := range b.used {
		if used > bytes {
			chats[chat] = true
		}
	}
	return slices.Collect(maps.Keys(chats))
}

// remove deletes the files of deleted messages. Downloads in progress continue. Files that
// cannot be deleted now are left to the sweep at the next start.
func (b *blobs) remove(gone []forgotten) error {
	var names []string
	b.mu.Lock()
	for _, f := range gone {
		if f.file != "" {
			b.used[f.chat] -= f.size
			names = append(names, f.file)
		}
	}
	b.mu.Unlock()
	return b.Remove(names...)
}

// leaveDoubtful leaves files to the sweep at the next start if nobody knows whether the commit
// that names them is on the disk.
func leaveDoubtful(err error, files []*staged) {
	if !errors.Is(err, stores.ErrDoubtful) {
		return
	}
	for _, s := range files {
		if s != nil {
			s.blobs = nil
		}
	}
}

// drop deletes the file unless it is committed. A failure leaves an orphan for the sweep.
func (s *staged) drop() {
	if s != nil && s.blobs != nil {
		_ = s.blobs.Remove(s.Name)
		s.blobs = nil
	}
}
