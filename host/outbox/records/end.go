package records

import (
	"cmp"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
)

// Requeue makes the parts in some states open, behind the chat's other deliveries. held is the channel's
// total by now. freed is the size of their files. Errors: ErrNotFound, ErrOpen, ErrNoBytes, ErrSettled.
func Requeue(t *state.Tx, id int64, held time.Duration, now time.Time, from ...State) (_ *Record, freed int64, err error) {
	items, err := scanRecords(t.Query(recordByID, id))
	if err != nil {
		return nil, 0, err
	}
	if len(items) == 0 {
		return nil, 0, ErrNotFound
	}
	it := items[0]
	if it.Open() && !slices.Contains(from, Waiting) {
		return nil, 0, ErrOpen
	}
	open := 0
	for i := range it.Parts {
		p := &it.Parts[i]
		if !slices.Contains(from, p.State) {
			continue
		}
		if len(p.Blobs()) < len(p.Files) {
			return nil, 0, ErrNoBytes
		}
		if stands, err := linkStands(t, p); err != nil || !stands {
			return nil, 0, cmp.Or(err, ErrNoBytes)
		}
		open++
		freed += p.Size()
		p.State, p.Attempts, p.Next, p.Code, p.Message, p.Hint = Queued, 0, time.Time{}, "", "", ""
		if err := t.Exec(`UPDATE part SET state = 'queued', attempts = 0, next = 0, code = '', message = '', hint = ''
			WHERE delivery = ? AND position = ?`, id, i); err != nil {
			return nil, 0, ofDatabase("retry", err)
		}
	}
	if open == 0 {
		return nil, 0, ErrSettled
	}
	if it.Turn, err = TakeTurns(t, 1); err != nil {
		return nil, 0, err
	}
	it.Created, it.Held = now, held
	err = t.Exec(`UPDATE delivery SET turn = ?, created = ?, held = ?, changed = ?, open = ?, bad = 0 WHERE id = ?`,
		it.Turn, nano(it.Created), int64(it.Held), nano(now), open, id)
	return it, freed, ofDatabase("retry", err)
}

// Cancel ends the open parts of a delivery from a position on, and returns their positions. Error: ErrSettled.
func Cancel(t *state.Tx, it *Record, from int, now time.Time) (cancelled []int, err error) {
	for i := from; i < len(it.Parts); i++ {
		n, err := t.Changed(`UPDATE part SET state = 'dropped', blob = '', next = 0, code = ?, message = ?, hint = ?
			WHERE delivery = ? AND position = ? AND state IN ('queued', 'sending')`,
			codeCancelled, cancelledMessage, cancelledHint, it.ID, i)
		if err != nil {
			return nil, ofDatabase("drop", err)
		}
		if n > 0 {
			cancelled = append(cancelled, i)
			if err := blob.Delete(t, it.Parts[i].Blobs()...); err != nil {
				return nil, ofDatabase("drop", err)
			}
		}
	}
	if len(cancelled) == 0 {
		return nil, ErrSettled
	}
	err = t.Exec(`UPDATE delivery SET open = open - ?, changed = ? WHERE id = ?`, len(cancelled), nano(now), it.ID)
	return cancelled, ofDatabase("drop", err)
}

// Cancelled returns the part as Cancel records it.
func (p Part) Cancelled() Part {
	p = p.WithoutBlobs()
	p.State, p.Next, p.Code, p.Message, p.Hint = Cancelled, time.Time{}, codeCancelled, cancelledMessage, cancelledHint
	return p
}

const (
	cancelledMessage = "the operator took it out of the queue"
	cancelledHint    = "ask the operator before you send it again"
)

// Batch is how many records one commit deletes: others that write wait for it.
const Batch = 100

// Kept is the bytes of a failed part.
type Kept struct {
	Delivery int64
	Position int
	Folder   string
	Blobs    string // with spaces between
	Size     int64
}

const (
	keptOfFolder = `SELECT p.delivery, p.position, d.folder, p.blob, p.size FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.blob <> '' AND p.state NOT IN ` + unendedStates + ` AND d.folder = ? ORDER BY p.delivery, p.position LIMIT ?`

	keptOfDelivery = `SELECT p.delivery, p.position, d.folder, p.blob, p.size FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.delivery = ? AND p.blob <> ''`
)

func scanKept(t *state.Tx, query string, args ...any) (ks []Kept, _ error) {
	rows, err := t.Query(query, args...)
	err = state.Each(rows, err, func() error {
		var k Kept
		err := rows.Scan(&k.Delivery, &k.Position, &k.Folder, &k.Blobs, &k.Size)
		ks = append(ks, k)
		return err
	})
	return ks, ofDatabase("read kept files", err)
}

// Dismiss takes a delivery off the list of failures, and returns what was kept of it. Error: ErrSettled.
func Dismiss(t *state.Tx, id int64, now time.Time) ([]Kept, error) {
	n, err := t.Changed(`UPDATE delivery SET bad = 0, changed = ? WHERE id = ? AND bad > 0 AND open = 0`, nano(now), id)
	if err != nil {
		return nil, ofDatabase("dismiss", err)
	}
	if n == 0 {
		return nil, ErrSettled
	}
	gone, err := scanKept(t, keptOfDelivery, id)
	if err == nil {
		err = t.Exec(`UPDATE part SET blob = '' WHERE delivery = ?`, id)
	}
	return gone, ofDatabase("dismiss", err)
}

// Expire deletes some of the records of deliveries that ended before a time, and returns what was
// kept of them, and whether there may be more.
func Expire(t *state.Tx, before time.Time) (gone []Kept, more bool, err error) {
	ids, err := scanIDs(t.Query(`SELECT id FROM delivery WHERE open = 0 AND changed < ? AND id NOT IN (SELECT delivery FROM ask WHERE told = 0 UNION ALL SELECT shown FROM ask WHERE told = 0) ORDER BY changed LIMIT ?`,
		nano(before), Batch))
	for _, id := range ids {
		ks, err := scanKept(t, keptOfDelivery, id)
		if err != nil {
			return nil, true, err
		}
		gone = append(gone, ks...)
		for _, table := range []string{`DELETE FROM part WHERE delivery = ?`, `DELETE FROM vote WHERE delivery = ?`, `DELETE FROM ask WHERE delivery = ?`, `DELETE FROM delivery WHERE id = ?`} {
			if err := t.Exec(table, id); err != nil {
				return nil, true, ofDatabase("forget deliveries", err)
			}
		}
	}
	return gone, len(ids) == Batch, err
}

// Evict takes the oldest failed files of a group out of the records until over bytes are gone, and
// returns these, and whether there may be more.
func Evict(t *state.Tx, folder string, over int64) (gone []Kept, more bool, err error) {
	ks, err := scanKept(t, keptOfFolder, folder, Batch)
	for left := over; left > 0 && len(gone) < len(ks); {
		k := ks[len(gone)]
		left -= k.Size
		gone = append(gone, k)
		if err := t.Exec(`UPDATE part SET blob = '' WHERE delivery = ? AND position = ?`, k.Delivery, k.Position); err != nil {
			return nil, true, ofDatabase("forget a failed file", err)
		}
	}
	return gone, len(ks) == Batch, err
}
