package calls

import (
	"context"
	"fmt"
	"sync"

	"github.com/longshore-bridge/longshore/host/store"
)

// counts are how many calls of each group are recorded, so that an assistant that calls without
// end, and is refused each time, does not fill the disk.
type counts struct {
	most int // of one group
	mu   sync.Mutex
	of   map[string]int // by folder
}

// read counts what is in the database.
func (c *counts) read(ctx context.Context, db *store.DB) error {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = all
	return rows.Err()
}

// full reports whether a group may have no other call.
func (c *counts) full(folder string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[folder] >= c.most
}

func (c *counts) add(folder string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[folder] += n
}
