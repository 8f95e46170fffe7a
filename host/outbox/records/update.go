package records

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
)

// Update records a part's state and reports whether the part has ended by it. It does not
// change a part that has ended already, because an operator may have cancelled the part
// meanwhile. SaveState writes the channel's data for the next attempt; Update clears it once
// the part is sent.
func Update(t *state.Tx, id int64, position int, p *Part, now time.Time) (ended bool, err error) {
	if p.plainlySent() {
		return sent(t, id, position, p, now)
	}
	n, err := t.Changed(`UPDATE part SET state = ?, attempts = ?, next = ?, doubt = ?, blob = ?,
		receipt = ?, receipt_time = ?, receipt_note = ?, code = ?, message = ?, hint = ?, shown = ?, saved = CASE WHEN ? = 1 THEN NULL ELSE saved END,
		delivered_at = ?, read_at = ?
		WHERE delivery = ? AND position = ? AND state IN `+openStates,
		string(p.State), p.Attempts, nano(p.Next), nano(p.Doubt), strings.Join(p.Blobs(), " "),
		p.Receipt.ID, nano(p.Receipt.Time), p.Receipt.Note, p.Code, p.Message, p.Hint, string(p.Shown), bit(p.State.Sent()), nano(p.DeliveredAt), nano(p.ReadAt), id, position)
	if err != nil || n == 0 || p.State.Open() {
		return false, ofDatabase("record an outcome", err)
	}
	bad := 0
	if p.State == Failed || p.State == Uncertain {
		bad = 1
	}
	err = t.Exec(`UPDATE delivery SET open = open - 1, bad = bad + ?, changed = ? WHERE id = ?`, bad, nano(now), id)
	return true, ofDatabase("record an outcome", err)
}

// plainlySent reports whether a part has the outcome of nearly all: sent, and there is
// nothing else to say.
func (p *Part) plainlySent() bool {
	return p.State == Sent && len(p.Files) == 0 && p.Doubt.IsZero() && p.Next.IsZero() && p.Receipt.Note == "" && p.Code == "" && p.Message == "" && p.Hint == ""
}

// sent is Update for a part that is plainlySent. To bind fewer values saves a fifth of the time.
func sent(t *state.Tx, id int64, position int, p *Part, now time.Time) (ended bool, err error) {
	n, err := t.Changed(`UPDATE part SET state = ?, attempts = ?, receipt = ?, receipt_time = ?, shown = ?,
		next = 0, doubt = 0, receipt_note = '', code = '', message = '', hint = '', saved = NULL
		WHERE delivery = ? AND position = ? AND state IN `+openStates,
		string(p.State), p.Attempts, p.Receipt.ID, nano(p.Receipt.Time), string(p.Shown), id, position)
	if err == nil && n > 0 {
		err = t.Exec(`UPDATE delivery SET open = open - 1, changed = ? WHERE id = ?`, nano(now), id)
	}
	return n > 0, ofDatabase("record an outcome", err)
}

// SaveState records what the channel keeps of a part for its next attempt.
func SaveState(t *state.Tx, id int64, position int, saved []byte) error {
	return t.Exec(`UPDATE part SET saved = ? WHERE delivery = ? AND position = ?`, saved, id, position)
}

const (
	lostMessage = "the host lost the file before it was sent"
	lostHint    = "send it again"
)

// LoseBytes fails the open parts of missing blobs, and returns how many approvals have nothing left to wait for.
func LoseBytes(t *state.Tx, names []string, now time.Time) (lost int64, err error) {
	for _, name := range names {
		if err := failLost(t, name, now, &lost); err != nil {
			return 0, err
		}
	}
	return lost, nil
}

// failLost fails the part of a missing blob, and deletes the part's small files. It adds the
// approvals that have nothing left to wait for to lost.
func failLost(t *state.Tx, name string, now time.Time, lost *int64) error {
	others, err := scanNames(t.Query(`SELECT blob FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%'`, name))
	if err == nil {
		err = blob.Delete(t, others...)
	}
	if err == nil {
		err = loseApproval(t, name, now, lost)
	}
	if err == nil {
		err = t.Exec(`UPDATE delivery SET open = open - 1, bad = bad + 1, changed = ? WHERE id IN
			(SELECT delivery FROM part WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state IN ('queued', 'sending'))`, nano(now), name)
	}
	if err == nil {
		err = t.Exec(`UPDATE part SET state = 'failed', code = ?, message = ?, hint = ?
			WHERE blob <> '' AND blob LIKE '%' || ? || '%' AND state IN ('queued', 'sending')`, codeLostBytes, lostMessage, lostHint, name)
	}
	if err == nil {
		err = t.Exec(`UPDATE part SET blob = '' WHERE blob <> '' AND blob LIKE '%' || ? || '%'`, name)
	}
	if err == nil {
		err = t.Exec(`DELETE FROM link WHERE blob = ?`, name)
	}
	return ofDatabase("record a lost file", err)
}

// Refined is what Refine found about the part of a receipt.
type Refined struct {
	Known    bool // the part exists
	Changed  bool // the receipt adds to the record
	Pending  bool // the part is Pending
	Delivery int64
	Folder   string
	Position int
	At       time.Time
}

// Reached gives a part the state that was reported of it.
func (p *Part) Reached(s State, at time.Time) {
	switch p.State = s; s {
	case Delivered:
		p.DeliveredAt = at
	case Read:
		p.ReadAt = at
	}
}

// Refine writes the new state of a part.
func Refine(t *state.Tx, chat groups.Address, id string, to State) (r Refined, err error) {
	rows, err := t.Query(`SELECT p.delivery, d.folder, p.position, p.state, p.shown FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.receipt = ? AND p.receipt <> '' AND d.channel = ? AND d.chat = ?`, id, chat.Channel, string(chat.JID))
	var was, shown State
	if err := state.Each(rows, err, func() error {
		r.Known = true
		return rows.Scan(&r.Delivery, &r.Folder, &r.Position, &was, &shown)
	}); err != nil {
		return r, ofDatabase("look for a message", err)
	}
	r.Pending = was == Pending
	if r.Changed = to.Beyond(cmp.Or(shown, was)); !r.Changed {
		return r, nil
	}
	r.At = time.Now()
	if r.Pending { // its attempt ends it
		err = t.Exec(`UPDATE part SET shown = ? WHERE delivery = ? AND position = ?`, string(to), r.Delivery, r.Position)
	} else {
		err = t.Exec(`UPDATE part SET state = ?1, delivered_at = CASE WHEN ?1 = 'delivered' THEN ?2 ELSE delivered_at END,
			read_at = CASE WHEN ?1 = 'read' THEN ?2 ELSE read_at END
			WHERE delivery = ?3 AND position = ?4`, string(to), nano(r.At), r.Delivery, r.Position)
	}
	if err == nil {
		err = t.Exec(`UPDATE delivery SET changed = ? WHERE id = ?`, nano(r.At), r.Delivery)
	}
	return r, ofDatabase("record a receipt", err)
}

// Beyond reports whether a state is a later one of a part that was sent.
func (s State) Beyond(was State) bool {
	steps := []State{"", Pending, Sent, Delivered, Read}
	from := slices.Index(steps, was)
	return from >= 0 && slices.Index(steps, s) > from
}

// MarkRestored prepares an outbox that was restored from a backup for its first host.
// The host that made the backup may have sent what the backup has as unsent, so each
// such part is in doubt since the backup was taken: a channel that knows ids or can be
// asked shows it once, and on another channel the part ends as uncertain. A change to a
// message is in no doubt: see [Act]. MarkRestored returns how many parts these are.
func MarkRestored(ctx context.Context, db *state.DB, taken time.Time) (int64, error) {
	n, err := db.Exec(ctx, `UPDATE part SET doubt = ?
		WHERE doubt = 0 AND act NOT LIKE '{"act"%' AND state IN ('queued', 'sending', 'waiting')`, nano(taken))
	return n, ofDatabase("mark what was restored", err)
}
