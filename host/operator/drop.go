package operator

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/host/outbox"
)

// Retry queues a failed delivery again, or puts a refused request back into its
// queue.
func (d *Desk) Retry(ctx context.Context, id string) error {
	return d.locate(id,
		func() error { return d.retryRequest(id) },
		func() error { return ofOutbox(id, d.Outbox.Retry(ctx, id)) })
}

// Drop cancels an open delivery, answers no to one that waits for an approval, removes a
// failed one from the list of failures, or deletes a request from the errors folder.
func (d *Desk) Drop(ctx context.Context, id string) error {
	return d.locate(id,
		func() error { return d.dropRequest(id) },
		func() error { return ofOutbox(id, d.dropDelivery(ctx, id)) })
}

func (d *Desk) dropDelivery(ctx context.Context, id string) error {
	delivery, err := d.Outbox.Get(ctx, id)
	if err != nil {
		return err
	}
	if delivery.Waits() {
		err := d.Deciding(ctx, delivery.Key, false)
		if !errors.Is(err, outbox.ErrDecided) { // else another answer came first
			return err
		}
	}
	err = d.Outbox.Cancel(ctx, id)
	if errors.Is(err, outbox.ErrSettled) {
		err = d.Outbox.Dismiss(ctx, id)
	}
	return err
}

// locate calls the function for the kind of item that the id probably names,
// and then the other.
func (d *Desk) locate(id string, request, delivery func() error) error {
	ask := []func() error{request, delivery}
	switch {
	case d.records() == nil:
		ask = ask[:1]
	case !mayBeRequest(id):
		ask[0], ask[1] = ask[1], ask[0]
	}
	for _, try := range ask {
		if err := try(); !isNotFound(err) {
			return err
		}
	}
	return notFound(id)
}

func isNotFound(err error) bool {
	r := refusal.Of(err)
	return r != nil && r.Code == CodeNotFound
}
