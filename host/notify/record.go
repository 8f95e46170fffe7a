package notify

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// read returns what was told. What cannot be read is as if it was missing: the worst is that an
// operator is told twice.
func (n *Notifier) read() (all []told) {
	rows, err := n.o.State.Query(`SELECT target, about, since, sent FROM notified ORDER BY since, target, fault`)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var t told
			var about []byte
			var since int64
			failed := rows.Scan(&t.Target, &about, &since, &t.Sent)
			if failed == nil {
				failed = json.Unmarshal(about, &t.Fault)
			}
			if err = errors.Join(err, failed); failed == nil {
				t.Since = time.Unix(0, since)
				all = append(all, t)
			}
		}
		err = errors.Join(err, rows.Err())
	}
	if err != nil {
		n.o.Log.Warn("what was told of faults cannot be read; they may be told again", "error", err)
	}
	return all
}

// keep makes durable that a target was told of a fault, or is being told. On a full disk it is
// not: a restart may then tell a fault again. The caller holds mu.
func (n *Notifier) keep(t told) {
	about, err := json.Marshal(t.Fault)
	if err == nil {
		sent := 0
		if t.Sent {
			sent = 1
		}
		_, err = n.o.State.Exec(context.Background(), `INSERT INTO notified (target, fault, about, since, sent) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (target, fault) DO UPDATE SET about = excluded.about, since = excluded.since, sent = excluded.sent`, t.Target, t.Fault.ID(), about, t.Since.UnixNano(), sent)
	}
	n.warn(err)
}

// forgotten deletes what no target waits for. The caller holds mu.
func (n *Notifier) forgotten(all ...told) {
	n.warn(n.o.State.Do(context.Background(), func(tx *state.Tx) error {
		for _, t := range all {
			if err := tx.Exec(`DELETE FROM notified WHERE target = ? AND fault = ?`, t.Target, t.Fault.ID()); err != nil {
				return err
			}
		}
		return nil
	}, nil))
}

func (n *Notifier) warn(err error) {
	if err != nil {
		n.o.Log.Warn("what was told of faults is not recorded", "error", err)
	}
}
