package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// results writes what the outbox knows into the groups' results directories.
// A result is a projection of its record: one that was overtaken before it was
// written is never written, and after a crash all are written again.
type results struct {
	h *host

	mu       sync.Mutex
	pending  map[string]outbox.Delivery // by key; the newest state
	order    []string                   // keys, in the order of their first change
	replayed map[string]bool            // keys that changed while the past is replayed; nil afterwards
	wake     chan struct{}              // of capacity one
}

// replay is how far back results are written again at start. An older one that
// a crash has kept from being written is in the outbox for the operator.
const replay = 24 * time.Hour

func newResults(h *host) *results {
	return &results{
		h: h, pending: map[string]outbox.Delivery{}, replayed: map[string]bool{}, wake: make(chan struct{}, 1),
	}
}

// put is the outbox's OnUpdate. It returns at once.
func (r *results) put(d outbox.Delivery) {
	r.mu.Lock()
	if r.replayed != nil {
		r.replayed[d.Key] = true
	}
	r.add(d)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *results) add(d outbox.Delivery) {
	if _, ok := r.pending[d.Key]; !ok {
		r.order = append(r.order, d.Key)
	}
	r.pending[d.Key] = d
}

// recall writes the results of the past again: a crash may have come between a
// record and its result. What changes meanwhile is newer than what is read.
func (r *results) recall(ctx context.Context) {
	for d, err := range r.h.outbox.Reader().Recent(ctx, time.Now().Add(-replay)) {
		if err != nil {
			r.h.opts.log.Error("write results again", "error", err)
			break
		}
		if told, ok := r.h.spool.Result(d.Folder, d.Request); ok && !d.Open() && told.Status == bridge.Result(d).Status {
			continue
		}
		r.mu.Lock()
		if !r.replayed[d.Key] {
			r.add(d)
		}
		r.mu.Unlock()
		r.flush()
	}
	r.mu.Lock()
	r.replayed = nil
	r.mu.Unlock()
}

func (r *results) flush() {
	for _, d := range r.take() {
		r.write(d)
	}
}

// take empties the list.
func (r *results) take() []outbox.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]outbox.Delivery, 0, len(r.order))
	for _, key := range r.order {
		all = append(all, r.pending[key])
	}
	clear(r.pending)
	r.order = nil
	return all
}

// Run writes until ctx is done, and then what is left.
func (r *results) Run(ctx context.Context) {
	r.recall(ctx)
	for {
		select {
		case <-ctx.Done():
			r.flush()
			return
		case <-r.wake:
			r.flush()
		}
	}
}

// write brings one delivery's result up to date, and tells the assistant of a
// failure that comes after its tool has stopped waiting.
func (r *results) write(d outbox.Delivery) {
	if !d.Open() {
		r.h.spool.Wake(d.Folder)
	}
	result := bridge.Result(d)
	late := result.Status == ipc.Failed || result.Status == ipc.Uncertain
	late = late && time.Since(d.Created) > r.h.config.Limits.Wait.Std()
	if d.Request == "" {
		return
	}
	if late {
		r.tellLate(d.Folder, result)
	}
	if err := r.h.spool.WriteResult(d.Folder, result); err != nil {
		r.h.opts.log.Error("write result", "group", d.Folder, "request", d.Request, "error", err)
		return
	}
}

func (r *results) tellLate(folder string, result ipc.Result) {
	text := fmt.Sprintf("delivery %s ended as %s after you stopped waiting: %s", result.ID, result.Status, result.Message)
	if result.Hint != "" {
		text += "; " + result.Hint
	}
	if err := r.h.assistants.Notify(folder, text); err != nil {
		r.h.opts.log.Info("late failure not told to an assistant", "group", folder, "request", result.ID, "error", err)
	}
}
