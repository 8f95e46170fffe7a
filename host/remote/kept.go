package remote

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/store"
)

// maxKept is how many calls of a group are remembered. At the usual rate of sends, a week has
// a fifth of that.
const maxKept = 1_000_000

// kept counts the calls in the store by folder, so that an assistant that calls without end,
// and is refused each time, does not fill the disk.
type kept struct {
	mu   sync.Mutex
	most int // of one group
	of   map[string]int
}

// count counts what is in the store.
func (k *kept) count(ctx context.Context, db *store.DB) error {
	rows, err := db.QueryContext(ctx, `SELECT folder, COUNT(*) FROM call GROUP BY folder`)
	if err != nil {
		return fmt.Errorf("count calls: %w", store.Words(err))
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var folder string
		var n int
		if err := rows.Scan(&folder, &n); err != nil {
			return fmt.Errorf("count calls: %w", err)
		}
		all[folder] = n
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of = all
	return rows.Err()
}

// full says whether a group may have no other call.
func (k *kept) full(folder string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[folder] >= k.most
}

func (k *kept) add(folder string, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[folder] += n
}

// deleteCall forgets a call that nothing was submitted for.
func (d *Server) deleteCall(ctx context.Context, who tokens.Identity, id string) error {
	if _, err := d.db.ExecContext(context.WithoutCancel(ctx), `DELETE FROM call WHERE id = ?`, id); err != nil {
		return fmt.Errorf("forget a call: %w", store.Words(err))
	}
	d.kept.add(who.Folder, -1)
	return nil
}

// expired says whether the outbox may have forgotten a call.
func (d *Server) expired(c call) bool { return time.Since(c.made) >= d.Live.KeepResults() }
