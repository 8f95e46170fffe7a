package outbox

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// MarkRestored prepares an outbox that was restored from a backup for its first host.
// The host that made the backup may have sent what the backup has as unsent, so each
// such part is in doubt since the backup was taken: a channel that knows ids or can be
// asked shows it once, and on another channel the part ends as uncertain. A change to a
// message is in no doubt: see [Act]. MarkRestored returns how many parts these are.
func MarkRestored(ctx context.Context, db *state.DB, taken time.Time) (int64, error) {
	n, err := db.Exec(ctx, `UPDATE part SET doubt = ?
		WHERE doubt = 0 AND act NOT LIKE '{"act"%' AND state IN ('queued', 'sending', 'waiting')`, nano(taken))
	return n, ofDatabase("mark what was restored", err)
}
