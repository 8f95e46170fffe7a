package outbox

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// recover reads what the process before left. It reads no delivery, only how
// many there are.
func (o *Outbox) recover(ctx context.Context) error {
	if err := o.recoverHolds(ctx); err != nil {
		return ofDatabase("read holds", err)
	}
	if err := o.sweep(ctx); err != nil {
		return err
	}
	if err := o.recoverUsage(ctx); err != nil {
		return ofDatabase("count deliveries", err)
	}
	return ofDatabase("count deliveries", o.recoverLanes(ctx))
}

func (o *Outbox) recoverHolds(ctx context.Context) error {
	rows, err := o.db.QueryContext(ctx, `SELECT channel, total, since FROM hold`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var total, since int64
		if err := rows.Scan(&name, &total, &since); err != nil {
			return err
		}
		o.line(name).hold = hold{total: time.Duration(total), since: fromNano(since)}
	}
	return rows.Err()
}

// sweep removes blobs that no record names, and fails the open parts whose
// blob is not there.
func (o *Outbox) sweep(ctx context.Context) error {
	entries, err := os.ReadDir(o.files.Name())
	if err != nil {
		return fmt.Errorf("sweep the outbox's files: %w", err)
	}
	named, err := o.namedBlobs(ctx)
	if err != nil {
		return ofDatabase("sweep the outbox's files", err)
	}
	var orphans []string
	for _, e := range entries {
		if named[e.Name()] {
			delete(named, e.Name())
		} else {
			orphans = append(orphans, e.Name())
		}
	}
	o.removeBlobs(orphans)
	if len(named) == 0 {
		return nil
	}
	o.opts.Log.Error("files of the outbox are missing", "count", len(named))
	return o.commit.do(func(t *tx) error {
		for blob := range named {
			if err := lose(t, blob, time.Now()); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

func (o *Outbox) namedBlobs(ctx context.Context) (map[string]bool, error) {
	rows, err := o.db.QueryContext(ctx, `SELECT blob FROM part WHERE blob <> ''`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	named := map[string]bool{}
	for rows.Next() {
		var blob string
		if err := rows.Scan(&blob); err != nil {
			return nil, err
		}
		named[blob] = true
	}
	return named, rows.Err()
}

// lose records that a blob is not there.
func lose(t *tx, blob string, now time.Time) error {
	_, err := t.exec(`UPDATE delivery SET open = open - 1, bad = bad + 1, changed = ? WHERE id IN
		(SELECT delivery FROM part WHERE blob = ? AND blob <> '' AND state IN ('queued', 'sending'))`, nano(now), blob)
	if err == nil {
		_, err = t.exec(`UPDATE part SET state = 'failed', code = ?, message = 'the host lost the file before it was sent',
			hint = 'send it again' WHERE blob = ? AND blob <> '' AND state IN ('queued', 'sending')`, codeLostBytes, blob)
	}
	if err == nil {
		_, err = t.exec(`UPDATE part SET blob = '' WHERE blob = ? AND blob <> ''`, blob)
	}
	return ofDatabase("record a lost file", err)
}

func (o *Outbox) recoverUsage(ctx context.Context) error {
	rows, err := o.db.QueryContext(ctx, `SELECT d.folder, count(*), sum(p.size), 0
		FROM delivery d CROSS JOIN part p ON p.delivery = d.id
		WHERE d.open > 0 AND p.state IN ('queued', 'sending') GROUP BY d.folder
		UNION ALL SELECT d.folder, 0, 0, sum(p.size)
		FROM part p CROSS JOIN delivery d ON d.id = p.delivery
		WHERE p.blob <> '' AND p.state NOT IN ('queued', 'sending') GROUP BY d.folder`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var folder string
		var u usage
		if err := rows.Scan(&folder, &u.parts, &u.bytes, &u.retained); err != nil {
			return err
		}
		if have := o.usage[folder]; have != nil {
			have.parts, have.bytes, have.retained = have.parts+u.parts, have.bytes+u.bytes, have.retained+u.retained
		} else {
			o.usage[folder] = &u
		}
	}
	return rows.Err()
}

// recoverLanes makes a lane of each chat that has something open.
func (o *Outbox) recoverLanes(ctx context.Context) error {
	rows, err := o.db.QueryContext(ctx, `SELECT channel, chat, count(*), max(turn), folder
		FROM delivery INDEXED BY delivery_open WHERE open > 0 GROUP BY channel, chat`)
	if err != nil {
		return err
	}
	defer rows.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	for rows.Next() {
		var name, chat, folder string
		var count int
		var turn int64
		if err := rows.Scan(&name, &chat, &count, &turn, &folder); err != nil {
			return err
		}
		o.turn = max(o.turn, turn)
		ln := o.lane(laneKey{name, groups.JID(chat)}, folder)
		ln.count, ln.recovered = count, pipeline
		o.ready(ln)
	}
	return rows.Err()
}
