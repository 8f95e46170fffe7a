package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/longshore-bridge/longshore/host/blob"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// Files stores the bytes of files, and counts the bytes of each chat.
type Files struct {
	*blob.Store

	mu   sync.Mutex
	used map[string]int64 // bytes by chat
	due  map[string]bool  // chats that may keep too much
}

// Staged is a blob that no row names yet. In the end the caller calls Commit or Drop; Drop
// after Commit does nothing.
type Staged struct {
	blob.Blob
	blobs *Files // nil once it is committed or dropped
}

// OpenFiles counts the bytes of each chat.
func OpenFiles(ctx context.Context, s *Store) (*Files, error) {
	b := &Files{Store: s.db.Blobs, used: map[string]int64{}, due: map[string]bool{}}
	_, err := list(ctx, s, func(rows *sql.Rows) (_ struct{}, err error) {
		var chat string
		var size int64
		err = rows.Scan(&chat, &size)
		b.used[chat] = size
		return struct{}{}, err
	}, "SELECT chat, SUM(size) FROM page_message WHERE channel = ? AND blob <> '' GROUP BY chat", s.name)
	return b, err
}

// Stage stores at most limit bytes of r, see [blob.Store.Stage].
func (b *Files) Stage(ctx context.Context, r io.Reader, limit int64, progress func(int64)) (*Staged, error) {
	made, err := b.Store.Stage(ctx, r, limit, progress)
	if err != nil {
		return nil, err
	}
	return &Staged{made, b}, nil
}

// Commit marks the rows of a chat's files as durable: Drop no longer deletes the files.
func (b *Files) Commit(chat string, files []*Staged) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range files {
		b.used[chat] += s.Size
		s.blobs = nil
	}
}

// Publish stores the files where all hosts find them, see [blob.Store.Publish].
func (b *Files) Publish(ctx context.Context, files []*Staged) error {
	for _, s := range files {
		if s != nil {
			if err := b.Store.Publish(ctx, s.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Free returns the free bytes of the disk, if known.
func (b *Files) Free() (int64, bool) {
	n, _, err := b.Space()
	return n, err == nil
}

// UsedBy returns the bytes of a chat's files.
func (b *Files) UsedBy(chat string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used[chat]
}

// Mark marks a chat as one that may keep too much.
func (b *Files) Mark(chat string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due[chat] = true
}

// Marked returns the marked chats, and those whose files exceed that many bytes. Their marks
// end.
func (b *Files) Marked(bytes int64) []string {
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
func (b *Files) remove(gone []forgotten) error {
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

// RemoveFile deletes the file of a message that was removed.
func (b *Files) RemoveFile(chat string, f *File) error {
	return b.remove([]forgotten{{chat: chat, file: f.ID, size: f.Size}})
}

// LeaveDoubtful leaves files to the sweep at the next start if nobody knows whether the commit
// that names them is on the disk.
func LeaveDoubtful(err error, files []*Staged) {
	if !errors.Is(err, stores.ErrDoubtful) {
		return
	}
	for _, s := range files {
		if s != nil {
			s.blobs = nil
		}
	}
}

// Drop deletes the file unless it is committed. A failure leaves an orphan for the sweep.
func (s *Staged) Drop() {
	if s != nil && s.blobs != nil {
		_ = s.blobs.Discard(s.Name)
		s.blobs = nil
	}
}

// Describe returns the file as the history stores it. The name is made safe again, because it
// becomes part of addresses and of file names on members' disks.
func (s *Staged) Describe(info media.Info) *File {
	f := &File{ID: s.Name, Name: media.SafeName(info.Name), MIME: info.MIME, Kind: info.Kind, Size: s.Size, SHA256: s.SHA256, Loop: info.Loop, Alt: info.Alt}
	if info.Kind == media.Image || info.Kind == media.Sticker {
		f.Width, f.Height = s.dimensions()
	}
	f.finish()
	return f
}

// dimensions returns a picture's size in pixels; 0, 0 if it is unknown.
func (s *Staged) dimensions() (width, height int) {
	if s.Bytes != nil {
		return probe.Dimensions(bytes.NewReader(s.Bytes))
	}
	f, err := s.blobs.Open(context.Background(), s.Name, s.SHA256, s.Size)
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	return probe.Dimensions(f)
}
