package outbox

import (
	"context"
	"fmt"
	"time"
)

// Dismiss takes a failed or uncertain delivery off the list of failures: an
// operator has seen it and will not try it again. What it became stays on
// record; the bytes that were kept for a retry go. Errors: ErrNotFound,
// ErrAmbiguous, ErrOpen, and ErrSettled where nothing of it failed.
func (o *Outbox) Dismiss(_ context.Context, name string) error {
	it, err := o.reader.find(name)
	if err != nil {
		return err
	}
	if it.Open() {
		return fmt.Errorf("dismiss %s: %w", it.Key, ErrOpen)
	}
	var gone []kept
	err = o.commit.do(func(t *tx) error {
		gone = nil
		n, err := t.changed(`UPDATE delivery SET bad = 0, changed = ? WHERE id = ? AND bad > 0 AND open = 0`, nano(time.Now()), it.id)
		if err != nil {
			return ofDatabase("dismiss", err)
		}
		if n == 0 {
			return ErrSettled
		}
		if gone, err = scanKept(t, keptOfDelivery, it.id); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE part SET blob = '' WHERE delivery = ?`, it.id)
		return ofDatabase("dismiss", err)
	}, func() { o.release(gone) })
	if err != nil {
		return fmt.Errorf("dismiss %s: %w", it.Key, err)
	}
	o.removeKept(gone)
	return nil
}
