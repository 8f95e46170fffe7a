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

	mu      sync.Mutex
	pending map[string]outbox.Delivery // by key; the newest state
	order   []string                   // keys, in the order of their first change
	wake    chan struct{}              // of capacity one
}

func newResults(h *host) *results {
	return &results{h: h, pending: map[string]outbox.Delivery{}, wake: make(chan struct{}, 1)}
}

// put is the outbox's OnUpdate. It returns at once.
func (r *results) put(d outbox.Delivery) {
	r.mu.Lock()
	if _, ok := r.pending[d.Key]; !ok {
		r.order = append(r.order, d.Key)
	}
	r.pending[d.Key] = d
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
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
func (r *results) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			for _, d := range r.take() {
				r.write(d)
			}
			return nil
		case <-r.wake:
			for _, d := range r.take() {
				r.write(d)
			}
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
