package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// results writes what the outbox knows into the groups' results directories.
// A result is a projection of its record: one that was overtaken before it was
// written is never written, and after a crash all are written again.
type results struct {
	updates    *updates
	past       *outbox.Reader
	spool      *ipc.Spool
	assistants *assistant.Manager
	wait       time.Duration // how long a tool waits for its result
	log        *slog.Logger
}

// replay is how far back results are written again at start. An older one that
// a crash has kept from being written is in the outbox for the operator.
const replay = 24 * time.Hour

// Run writes until ctx is done, and then what is left.
func (r *results) Run(ctx context.Context) {
	r.recall(ctx)
	for {
		select {
		case <-ctx.Done():
			r.flush()
			return
		case <-r.updates.wake:
			r.flush()
		}
	}
}

// recall writes the results of the past again: a crash may have come between a
// record and its result.
func (r *results) recall(ctx context.Context) {
	defer r.updates.recalled()
	for d, err := range r.past.Recent(ctx, time.Now().Add(-replay)) {
		if err != nil {
			r.log.Error("write results again", "error", err)
			return
		}
		if told, ok := r.spool.Result(d.Folder, d.Request); ok && !d.Open() && told.Status == bridge.Result(d).Status {
			continue
		}
		r.updates.recall(d)
		r.flush()
	}
}

func (r *results) flush() {
	for _, d := range r.updates.take() {
		r.write(d)
	}
}

// write brings one delivery's result up to date, and tells the assistant of a
// failure that comes after its tool has stopped waiting.
func (r *results) write(d outbox.Delivery) {
	if !d.Open() {
		r.spool.Wake(d.Folder) // there is room for a request that waits
	}
	if d.Request == "" {
		return
	}
	result := bridge.Result(d)
	bad := result.Status == ipc.Failed || result.Status == ipc.Uncertain
	if bad && time.Since(d.Created) > r.wait {
		r.tellLate(d.Folder, result)
	}
	if err := r.spool.WriteResult(d.Folder, result); err != nil {
		r.log.Error("write result", "group", d.Folder, "request", d.Request, "error", err)
	}
}

func (r *results) tellLate(folder string, result ipc.Result) {
	text := fmt.Sprintf("delivery %s ended as %s after you stopped waiting: %s", result.ID, result.Status, result.Message)
	if result.Hint != "" {
		text += "; " + result.Hint
	}
	if err := r.assistants.Notify(folder, text); err != nil {
		r.log.Info("late failure not told to an assistant", "group", folder, "request", result.ID, "error", err)
	}
}
