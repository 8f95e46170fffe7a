package records

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
)

// ChangedSince calls see for each delivery that ended or last changed at or after since, and for each
// open one of which there is something to report: not that it waits for its first attempt. In their order.
func (r *Reader) ChangedSince(ctx context.Context, since time.Time, see func(id int64, folder string)) error {
	rows, err := r.db.QueryContext(ctx, `SELECT id, folder FROM delivery WHERE open > 0
		AND (changed > 0 OR EXISTS (SELECT 1 FROM part WHERE delivery = delivery.id AND attempts > 0)) UNION SELECT id, folder FROM delivery WHERE open = 0 AND changed >= ? ORDER BY id`, nano(since))
	err = state.Each(rows, err, func() error {
		var id int64
		var folder string
		err := rows.Scan(&id, &folder)
		if err == nil {
			see(id, folder)
		}
		return err
	})
	return ofDatabase("read deliveries", err)
}

// Usage is how much a group has in the outbox. It is counted in memory because Room is
// asked about every request, and its cost must not grow with the backlog: a query takes 12
// µs for an empty group, 80 µs for 64 waiting parts, and 1.8 ms for 1,000.
type Usage struct {
	Parts        int
	Bytes        int64 // of open parts
	Retained     int64 // of failed parts that can be retried
	Waiting      int   // parts that wait for an approval
	WaitingBytes int64 // of those
}

// Waiting returns what all parts of a delivery count while it waits for an approval.
func (d *Delivery) Waiting() Usage {
	u := Usage{Waiting: len(d.Parts)}
	for i := range d.Parts {
		u.WaitingBytes += d.Parts[i].Size()
	}
	return u
}

// Negative returns what takes a waiting delivery away again.
func (u Usage) Negative() Usage { return Usage{Waiting: -u.Waiting, WaitingBytes: -u.WaitingBytes} }

// Usage calls see for what each group has in the outbox, in parts that add up.
func (r *Reader) Usage(ctx context.Context, see func(folder string, u Usage)) error {
	// The sums of folders are made by the caller: grouped by folder, SQLite would read every delivery.
	rows, err := r.db.QueryContext(ctx, `SELECT d.folder, count(*), sum(p.size), 0, 0, 0
		FROM delivery d JOIN part p ON p.delivery = d.id
		WHERE d.open > 0 AND p.state IN `+openStates+` GROUP BY d.channel, d.chat, d.folder
		UNION ALL SELECT d.folder, 0, 0, 0, 1, p.size
		FROM ask a JOIN delivery d ON d.id = a.delivery JOIN part p ON p.delivery = d.id
		WHERE a.told = 0 AND a.answer = '' AND a.policy = 'approval'
		UNION ALL SELECT d.folder, 0, 0, p.size, 0, 0
		FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.blob <> '' AND p.state NOT IN `+unendedStates)
	err = state.Each(rows, err, func() error {
		var folder string
		var u Usage
		err := rows.Scan(&folder, &u.Parts, &u.Bytes, &u.Retained, &u.Waiting, &u.WaitingBytes)
		if err == nil {
			see(folder, u)
		}
		return err
	})
	return ofDatabase("count deliveries", err)
}

// OpenChats calls see for each chat with open deliveries, and one of their groups.
func (r *Reader) OpenChats(ctx context.Context, see func(chat groups.Address, folder string, open int)) error {
	rows, err := r.db.QueryContext(ctx, `SELECT channel, chat, count(*), min(folder)
		FROM delivery WHERE open > 0 GROUP BY channel, chat`)
	err = state.Each(rows, err, func() error {
		var chat groups.Address
		var folder string
		var open int
		err := rows.Scan(&chat.Channel, &chat.JID, &open, &folder)
		if err == nil {
			see(chat, folder, open)
		}
		return err
	})
	return ofDatabase("count deliveries", err)
}

// Unsettled returns when the oldest open delivery was accepted, zero if none is open, and how
// many deliveries wait for an approval.
func (r *Reader) Unsettled(ctx context.Context) (oldest time.Time, waiting int, err error) {
	var created int64
	err = r.db.QueryRowContext(ctx, `SELECT coalesce(min(created), 0), (SELECT count(*) FROM ask WHERE told = 0 AND answer = '' AND policy = 'approval')
		FROM delivery WHERE open > 0`).Scan(&created, &waiting)
	return fromNano(created), waiting, ofDatabase("count deliveries", err)
}

// Holds calls see for each channel that has waited for an operator: how long before, and since
// when, zero if it does not now.
func (r *Reader) Holds(ctx context.Context, see func(channel string, total time.Duration, since time.Time)) error {
	rows, err := r.db.QueryContext(ctx, `SELECT channel, total, since FROM hold`)
	err = state.Each(rows, err, func() error {
		var channel string
		var total, since int64
		err := rows.Scan(&channel, &total, &since)
		if err == nil {
			see(channel, time.Duration(total), fromNano(since))
		}
		return err
	})
	return ofDatabase("read holds", err)
}

// SaveHold records how long a channel has waited for an operator.
func SaveHold(t *state.Tx, channel string, total time.Duration, since time.Time) error {
	return t.Exec(`INSERT INTO hold (channel, total, since) VALUES (?, ?, ?)
		ON CONFLICT (channel) DO UPDATE SET total = excluded.total, since = excluded.since`,
		channel, int64(total), nano(since))
}
