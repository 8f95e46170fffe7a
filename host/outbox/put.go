package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Put makes deliveries durable, in their order, or returns an error and keeps
// none of them. A delivery whose Key is known already is left out without a
// word. From the call on the blobs are the outbox's, whatever it returns: to
// try again, copy again. It waits for the disk, whether or not Run works;
// callers at the same time share one commit.
func (o *Outbox) Put(ctx context.Context, ds []Delivery) error {
	items := make([]*item, len(ds))
	var blobs []string
	var invalid error
	for i := range ds {
		it, err := newItem(&ds[i])
		items[i], invalid = it, errors.Join(invalid, err)
		blobs = append(blobs, it.blobs()...)
	}
	if err := errors.Join(invalid, ctx.Err()); err != nil {
		o.removeBlobs(blobs)
		return fmt.Errorf("put: %w", err)
	}
	var unused []string
	err := o.commit.do(func(t *tx) error {
		unused = nil
		t.syncFiles = t.syncFiles || len(blobs) > 0
		return o.insertAll(t, items, &unused)
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, it := range items {
			if it.id != 0 {
				o.accept(it)
			}
		}
	})
	switch {
	case err == nil:
		o.removeBlobs(unused)
		o.poke()
	case !errors.Is(err, errDoubtful):
		o.removeBlobs(blobs)
	}
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	return nil
}

// insertAll records the items that are new; the blobs of the others that no
// record names go to unused.
func (o *Outbox) insertAll(t *tx, items []*item, unused *[]string) error {
	now := time.Now()
	for _, it := range items {
		o.turn++
		it.turn = o.turn
		it.held = o.heldTotal(it.Channel, now)
		id, err := insert(t, &it.Delivery, it.turn, it.held, now)
		if err != nil {
			return err
		}
		if it.id = id; id != 0 {
			continue
		}
		for _, blob := range it.blobs() {
			known, err := t.exists(`SELECT 1 FROM part WHERE blob = ? AND blob <> ''`, blob)
			if err != nil {
				return err
			}
			if !known {
				*unused = append(*unused, blob)
			}
		}
	}
	return nil
}

// newItem checks a delivery and fills what Put fills. It returns an item, for
// its blobs, with an error too.
func newItem(d *Delivery) (*item, error) {
	it := &item{Delivery: d.clone()}
	if it.Created.IsZero() {
		it.Created = time.Now()
	}
	it.begun = make([]bool, len(it.Parts))
	for i := range it.Parts {
		p := &it.Parts[i]
		p.State = Queued
		p.MessageID = messageID(d.Key, i)
	}
	switch {
	case !isHex32(d.Key):
		return it, fmt.Errorf("key %q is not 32 lower-case hex digits", d.Key)
	case len(d.Parts) == 0:
		return it, fmt.Errorf("delivery %s has no parts", d.Key)
	case d.Channel == "" || d.Chat == "":
		return it, fmt.Errorf("delivery %s names no chat", d.Key)
	}
	for i := range it.Parts {
		if p := &it.Parts[i]; p.File != nil && !isHex32(p.File.Blob) {
			return it, fmt.Errorf("delivery %s has a file without a blob", d.Key)
		}
	}
	return it, nil
}

// blobs are the names of the files that hold the delivery's bytes.
func (it *item) blobs() []string {
	var names []string
	for i := range it.Parts {
		if p := &it.Parts[i]; p.blob() != "" {
			names = append(names, p.File.Blob)
		}
	}
	return names
}

func isHex32(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
