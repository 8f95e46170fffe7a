package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Note makes a fact durable, in place of an earlier one of that key. The caller sees
// to it that facts do not grow without bound: see Trim.
func (j *Journal) Note(ctx context.Context, key, value string) error {
	return j.exec(ctx, "note a fact", `INSERT INTO journal_fact (channel, key, value, used) VALUES (?, ?, ?, ?)
		ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value, used = excluded.used`, j.channel, key, value, time.Now().UnixNano())
}

// Noted looks a fact up; empty if there is none.
func (j *Journal) Noted(ctx context.Context, key string) (value string, err error) {
	err = j.db.QueryRowContext(ctx, `SELECT value FROM journal_fact WHERE channel = ? AND key = ?`, j.channel, key).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look up a fact: %w", store.Words(err))
	}
	return value, nil
}

// AllNoted returns the facts whose keys begin with a prefix, by the rest of the key.
func (j *Journal) AllNoted(ctx context.Context, prefix string) (map[string]string, error) {
	rows, err := j.db.QueryContext(ctx, `SELECT key, value FROM journal_fact WHERE channel = ?1 AND substr(key, 1, length(?2)) = ?2`, j.channel, prefix)
	all := map[string]string{}
	_, err = state.All(rows, err, func(rows *sql.Rows) (_ struct{}, err error) {
		var key, value string
		err = rows.Scan(&key, &value)
		all[strings.TrimPrefix(key, prefix)] = value
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("list facts: %w", store.Words(err))
	}
	return all, nil
}

// Unnote forgets a fact.
func (j *Journal) Unnote(ctx context.Context, key string) error {
	return j.exec(ctx, "forget a fact", `DELETE FROM journal_fact WHERE channel = ? AND key = ?`, j.channel, key)
}

// Trim forgets all but the latest facts whose keys begin with a prefix.
func (j *Journal) Trim(ctx context.Context, prefix string, latest int) error {
	return j.exec(ctx, "forget facts", `DELETE FROM journal_fact WHERE channel = ?1 AND substr(key, 1, length(?2)) = ?2 AND used <
		(SELECT min(used) FROM (SELECT used FROM journal_fact WHERE channel = ?1 AND substr(key, 1, length(?2)) = ?2
			ORDER BY used DESC LIMIT ?3) AS latest)`, j.channel, prefix, latest)
}
