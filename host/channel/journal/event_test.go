package journal

import (
	"fmt"
	"testing"
)

// A member who reacts without end would have pushed out the messages that
// others quote, and whose files are still to be fetched.
func TestAFloodOfReactionsTakesNoRoomFromMessages(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	must(t, j.Keep(ctx, from("a@g.us", "anna", "M", "a photo")))
	m, err := j.Next(ctx, "a@g.us")
	must(t, err)
	done(t, j, m)
	const n = 2 * keepEvents
	for i := range n {
		e := from("a@g.us", "bo", fmt.Sprint("R", i), "a heart")
		e.Event = true
		must(t, j.Keep(ctx, e))
	}
	must(t, j.forgetOld(ctx))
	var kept int
	must(t, j.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM journal_inbound WHERE state = 'received'`).Scan(&kept))
	if kept != keepEvents {
		t.Errorf("%d reactions are kept, want %d", kept, keepEvents)
	}
	if m, err := j.Next(ctx, "a@g.us"); err != nil || m.ID != fmt.Sprint("R", n-keepEvents) {
		t.Errorf("the oldest is %+v, %v", m, err)
	}
	if m, err := j.Inbound(ctx, "a@g.us", "M"); m == nil || err != nil {
		t.Errorf("the message is not known any more: %v", err)
	}
	if m, err := j.Inbound(ctx, "a@g.us", fmt.Sprint("R", n-1)); m != nil || err != nil {
		t.Errorf("a reaction was found as a message: %+v, %v", m, err)
	}
}
