package outbox

import (
	"context"
	"strings"
	"time"
)

// Known says which of the keys have a record already: of requests that are
// seen again after a crash, and need no more than to be unlinked.
func (r *Reader) Known(ctx context.Context, keys []string) (map[string]bool, error) {
	known := map[string]bool{}
	if len(keys) == 0 {
		return known, nil
	}
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = key
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(keys)), ",")
	rows, err := r.db.QueryContext(ctx, `SELECT key FROM delivery WHERE key IN (`+marks+`)`, args...)
	if err != nil {
		return nil, ofDatabase("look for deliveries", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, ofDatabase("look for deliveries", err)
		}
		known[key] = true
	}
	return known, ofDatabase("look for deliveries", rows.Err())
}

// AcceptedSince says whether anything from the group was accepted at or after
// the time.
func (r *Reader) AcceptedSince(ctx context.Context, folder string, since time.Time) (bool, error) {
	var found bool
	err := r.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM delivery
		WHERE folder = ? AND created >= ?)`, folder, nano(since)).Scan(&found)
	return found, ofDatabase("look for deliveries", err)
}
