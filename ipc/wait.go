package ipc

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"time"

	"github.com/fsnotify/fsnotify"
)

// clientPoll is how often the client looks by itself: not every file system
// tells of changes, and an event is a hint only.
const clientPoll = 500 * time.Millisecond

// Wait returns when the request has come to an end that it can report, or with
// the last state seen when ctx ends, which is no error. Every change, the last
// one included, is told to changed, which may be nil. On a host that gives no
// receipts it returns at once.
func (c *Client) Wait(ctx context.Context, id string, changed func(Result)) (Result, error) {
	hint, stop := hints(c.path(ResultsDir), func(name string) bool { return name == id+suffix })
	defer stop()
	tick := time.NewTicker(clientPoll)
	defer tick.Stop()
	last := Result{ID: id, Status: Queued}
	for first := true; ; first = false {
		r, err := c.Status(id)
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal) && ValidID(id):
			// Taken from the queue, and its result is not written yet.
			r = last
		case err != nil:
			return last, err
		}
		if changed != nil && (first || !reflect.DeepEqual(r, last)) {
			changed(r)
		}
		last = r
		if r.Status.Final() || r.Code == CodeNoReceipts {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return last, nil
		case <-hint:
		case <-tick.C:
		}
	}
}

// hints tells of new names in a directory. Where nobody can watch it, it
// stays silent; the caller polls anyway.
func hints(dir string, match func(name string) bool) (<-chan struct{}, func()) {
	w, err := fsnotify.NewBufferedWatcher(16)
	if err != nil {
		return nil, func() {}
	}
	if err := w.Add(dir); err != nil {
		w.Close()
		return nil, func() {}
	}
	hint := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				if !e.Has(fsnotify.Create) || !match(filepath.Base(e.Name)) {
					continue
				}
			case _, ok := <-w.Errors:
				if !ok {
					return
				}
			}
			select {
			case hint <- struct{}{}:
			default:
			}
		}
	}()
	return hint, func() {
		w.Close()
		<-done
	}
}
