package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

// factSchema is what version 3 adds: what a channel knows longer than its messages.
const factSchema = `CREATE TABLE IF NOT EXISTS fact (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL,
	used  INTEGER NOT NULL -- ns
);`

// Note makes a fact durable, in place of an earlier one of that key. The caller sees
// to it that facts do not grow without bound: see Trim.
func (j *Journal) Note(ctx context.Context, key, value string) error {
	return j.exec(ctx, "note a fact", `INSERT INTO fact (key, value, used) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, used = excluded.used`, key, value, time.Now().UnixNano())
}

// Noted looks a fact up; empty if there is none.
func (j *Journal) Noted(ctx context.Context, key string) (value string, err error) {
	err = j.db.QueryRowContext(ctx, `SELECT value FROM fact WHERE key = ?`, key).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look up a fact: %w", store.Words(err))
	}
	return value, nil
}

// AllNoted returns the facts whose keys begin with a prefix, by the rest of the key.
func (j *Journal) AllNoted(ctx context.Context, prefix string) (map[string]string, error) {
	rows, err := j.db.QueryContext(ctx, `SELECT key, value FROM fact WHERE substr(key, 1, length(?1)) = ?1`, prefix)
	if err != nil {
		return nil, fmt.Errorf("list facts: %w", store.Words(err))
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, fmt.Errorf("list facts: %w", store.Words(err))
		}
		all[strings.TrimPrefix(key, prefix)] = value
	}
	return all, store.Words(rows.Err())
}

// Unnote forgets a fact.
func (j *Journal) Unnote(ctx context.Context, key string) error {
	return j.exec(ctx, "forget a fact", `DELETE FROM fact WHERE key = ?`, key)
}

// Trim forgets all but the latest facts whose keys begin with a prefix.
func (j *Journal) Trim(ctx context.Context, prefix string, latest int) error {
	return j.exec(ctx, "forget facts", `DELETE FROM fact WHERE key IN
		(SELECT key FROM fact WHERE substr(key, 1, length(?1)) = ?1 ORDER BY used DESC LIMIT -1 OFFSET ?2)`, prefix, latest)
}
