package operator

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Retry queues a failed delivery again, or puts a refused request back into its
// queue.
func (l *Local) Retry(ctx context.Context, id string) error {
	return l.locate(id,
		func() error { return l.retryRequest(id) },
		func() error { return ofOutbox(id, l.Outbox.Retry(ctx, id)) })
}

// Drop cancels an open delivery, answers no to one that waits for an approval, removes a
// failed one from the list of failures, or deletes a request from the errors folder.
func (l *Local) Drop(ctx context.Context, id string) error {
	return l.locate(id,
		func() error { return l.dropRequest(id) },
		func() error { return ofOutbox(id, l.dropDelivery(ctx, id)) })
}

func (l *Local) dropDelivery(ctx context.Context, id string) error {
	delivery, err := l.Outbox.Get(ctx, id)
	if err != nil {
		return err
	}
	if delivery.Waits() {
		err := l.Road.Decide(ctx, delivery.Key, false)
		if !errors.Is(err, records.ErrDecided) { // else another answer came first
			return err
		}
	}
	err = l.Outbox.Cancel(ctx, id)
	if errors.Is(err, records.ErrSettled) {
		err = l.Outbox.Dismiss(ctx, id)
	}
	return err
}

// locate calls the function for the kind of item that the id probably names,
// and then the other.
func (l *Local) locate(id string, request, delivery func() error) error {
	ask := []func() error{request, delivery}
	switch {
	case l.records() == nil:
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
