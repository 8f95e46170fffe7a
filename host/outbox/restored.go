package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

// MarkRestored prepares an outbox that was restored from a backup for its first host.
// The host that made the backup may have sent what the backup has as unsent, so each
// such part is in doubt since the backup was taken: a channel that knows ids or can be
// asked shows it once, and on another channel the part ends as uncertain. A change to a
// message is in no doubt: see [Act]. MarkRestored returns how many parts these are.
func MarkRestored(ctx context.Context, s store.Spec, taken time.Time) (n int64, err error) {
	lock, err := store.Lock(s)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	db, err := store.Open(ctx, s)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	done, err := db.ExecContext(ctx, `UPDATE part SET doubt = ?
		WHERE doubt = 0 AND act NOT LIKE '{"act"%' AND state IN ('queued', 'sending', 'waiting')`, nano(taken))
	if err != nil {
		return 0, ofDatabase("mark what was restored", err)
	}
	return done.RowsAffected()
}
