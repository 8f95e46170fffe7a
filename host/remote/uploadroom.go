package remote

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// maxUnsent is how many uploads a group may have in all, of which many may have no bytes.
const maxUnsent = 1000

// uploadIdle is how long after its last byte an unfinished upload gives way to a new one, if the
// group may have no further one.
const uploadIdle = 10 * time.Minute

// keepUpload keeps a new upload, or refuses one that the group may not begin. If only the number
// of unfinished ones stands in the way, one that has stopped gives way.
func (s *Server) keepUpload(ctx context.Context, name string, u upload) error {
	for {
		var full bool
		var refused error
		err := s.State.Do(ctx, func(t *state.Tx) (err error) {
			full, refused, err = s.addUpload(t, name, u)
			return err
		}, nil)
		if err = cmp.Or(store.Words(err), refused); err != nil || !full {
			return err
		}
		if way, err := s.giveWay(ctx, u.Folder); err != nil || !way {
			return cmp.Or(err, error(errBusy))
		}
	}
}

// addUpload records a new upload. It does not if the group has too many unfinished ones, or if it
// is refused.
func (s *Server) addUpload(t *state.Tx, name string, u upload) (full bool, refused, err error) {
	open, all, kept, err := unsent(t.QueryRow(countUnsent, u.Folder))
	switch {
	case err != nil:
		return false, nil, err
	case all >= maxUnsent:
		return false, errBusy, nil
	case u.Length > s.Live.Quota()-kept:
		return false, httpd.Refuse(http.StatusRequestEntityTooLarge, ipc.CodeTooLarge, "the group's uploads may have "+media.Size(s.Live.Quota())+" together", "send what is uploaded, or wait until it is gone"), nil
	case open >= s.Limits.Uploads:
		return true, nil, nil
	}
	err = t.Exec(`INSERT INTO remote_upload (name, folder, length, sha256, changed) VALUES (?, ?, ?, ?, ?)`, name, u.Folder, u.Length, u.SHA256, time.Now().UnixNano())
	return false, nil, err
}

// countUnsent counts a group's uploads that are not whole, those that are not sent, and the bytes
// of all that these promised.
const countUnsent = `SELECT COALESCE(SUM(1 - whole), 0), COUNT(*), COALESCE(SUM(length), 0) FROM remote_upload WHERE folder = ? AND sent = 0`

func unsent(row interface{ Scan(...any) error }) (open, all int, bytes int64, err error) {
	return open, all, bytes, row.Scan(&open, &all, &bytes)
}

// giveWay deletes the group's unfinished upload that has had no byte for the longest time. It
// returns false if each is being written, or has had a byte lately.
func (s *Server) giveWay(ctx context.Context, folder string) (bool, error) {
	rows, err := s.State.QueryContext(ctx, `SELECT name, changed FROM remote_upload WHERE folder = ? AND sent = 0 AND whole = 0`, folder)
	names, err := s.stopped(time.Now().Add(-uploadIdle), rows, err)
	if err != nil {
		return false, store.Words(err)
	}
	for _, name := range names {
		if s.uploads.begin(name) {
			defer s.uploads.end(name)
			return true, s.deleteUpload(name)
		}
	}
	return false, nil
}
