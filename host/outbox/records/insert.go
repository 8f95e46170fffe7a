package records

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
)

// TakeTurns takes the next n turns, which order the deliveries of each chat, and returns the last
// of them.
func TakeTurns(t *state.Tx, n int) (last int64, err error) {
	rows, err := t.Query(`UPDATE delivery_order SET last = last + ? RETURNING last`, n)
	err = state.Each(rows, err, func() error { return rows.Scan(&last) })
	return last, ofDatabase("order deliveries", err)
}

// Insert records a delivery with its approval, and sets its ID, to 0 if its key is known.
func Insert(t *state.Tx, it *Record, now time.Time) error {
	open, changed := 0, time.Time{}
	for i := range it.Parts {
		if it.Parts[i].State.Open() {
			open++
		}
	}
	if open < len(it.Parts) || it.Approval != nil || it.Parts[0].Question != nil {
		changed = now // there is something to report
	}
	rows, err := t.Query(`INSERT INTO delivery (key, turn, folder, request, channel, chat, thread, asked, created, held, changed, open, batch, bound)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING id`,
		it.Key, it.Turn, it.Folder, it.Request, it.Channel, string(it.Chat), it.Thread, nano(it.Asked), nano(it.Created), int64(it.Held), nano(changed), open, bit(it.Batch), it.Bound)
	it.ID = 0
	if err := state.Each(rows, err, func() error { return rows.Scan(&it.ID) }); err != nil || it.ID == 0 {
		return ofDatabase("record a delivery", err)
	}
	for i := range it.Parts {
		if err := insertPart(t, it.ID, i, &it.Parts[i], it.Approval != nil); err != nil {
			return err
		}
	}
	for i := range it.Parts {
		if l := it.Parts[i].Link; l != nil {
			if err := insertLink(t, &it.Delivery, l); err != nil {
				return err
			}
		}
		if a := it.Parts[i].Act; a != nil && a.Verb == VerbUnsend {
			if err := unlink(t, it.Address(), a.Target); err != nil {
				return err
			}
		}
	}
	names := it.Blobs() // without those of parts that are sent
	for _, f := range it.Small {
		if !slices.Contains(names, f.Blob) {
			continue
		}
		if err := blob.Insert(t, f.Blob, f.Bytes); err != nil {
			return ofDatabase("keep a file", err)
		}
	}
	return insertAsks(t, it, now)
}

func insertPart(t *state.Tx, id int64, position int, p *Part, waits bool) error {
	files, err := encodeFiles(p.Files, waits)
	if err != nil {
		return err
	}
	act, err := p.actText()
	if err != nil {
		return err
	}
	err = t.Exec(`INSERT INTO part (delivery, position, message_id, text, reply_to, file, size, blob, state, act, written, receipt_note, unthreaded, attempts, receipt, receipt_time)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, position, p.MessageID, p.Text, p.ReplyTo, files, p.Size(), strings.Join(p.Blobs(), " "), string(p.State), act, p.Written, p.Receipt.Note, bit(p.Unthreaded),
		p.Attempts, p.Receipt.ID, nano(p.Receipt.Time))
	return ofDatabase("record a delivery", err)
}

// Unnamed returns those files among blobs that no record names.
func Unnamed(t *state.Tx, blobs []string) (unnamed []string, err error) {
	for _, name := range blobs {
		if !blob.IsName(name) {
			continue
		}
		known, err := scanIDs(t.Query(`SELECT delivery FROM part WHERE blob <> '' AND blob LIKE '%' || ?1 || '%' UNION ALL SELECT 0 FROM link WHERE blob = ?1`, name))
		if err != nil {
			return nil, err
		}
		if len(known) == 0 {
			unnamed = append(unnamed, name)
		}
	}
	return unnamed, nil
}

// Replace removes the request's id from earlier deliveries of the group with the same id:
// the result under that id belongs to the new request. It returns the ids of those
// deliveries. The new deliveries have ids from first on.
func Replace(t *state.Tx, first int64) (earlier []int64, err error) {
	var later []int64
	rows, err := t.Query(`SELECT e.id, d.id FROM delivery d JOIN delivery e ON e.request = d.request AND e.folder = d.folder AND e.id < d.id
		WHERE d.id >= ? AND d.request <> ''`, first)
	err = state.Each(rows, err, func() error {
		var before, now int64
		err := rows.Scan(&before, &now)
		earlier, later = append(earlier, before), append(later, now)
		return err
	})
	for i, id := range earlier {
		failed := t.Exec(`UPDATE delivery SET request = '' WHERE id = ?`, id)
		stands := t.Exec(`UPDATE delivery SET changed = created WHERE id = ? AND changed = 0`, later[i]) // its result must be replaced even after a crash
		err = errors.Join(err, failed, stands)
	}
	return earlier, ofDatabase("record a delivery", err)
}
