package ipc

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/longshore-bridge/longshore/internal/wake"
)

// clientPoll is how often the client checks without an event: not every file system
// reports changes, and an event is only a hint.
const clientPoll = 500 * time.Millisecond

// Wait returns when the request has reached a final status, or when ctx ends; the
// latter is no error, and the last known result is returned. Wait calls changed,
// which may be nil, with the first result and with every change, including the last.
// On a host that writes no results, Wait returns at once.
func (c *Client) Wait(ctx context.Context, id string, changed func(Result)) (Result, error) {
	hint, stop := hints(c.path(ResultsDir), func(name string) bool { return name == id+Suffix || strings.HasSuffix(name, BatchSuffix) })
	defer stop()
	tick := time.Tick(clientPoll)
	last := Result{ID: id, Status: Queued}
	for first := true; ; first = false {
		r, err := c.Status(id)
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal) && ValidID(id):
			// The host has taken the request from the queue and not written its
			// result yet.
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
		case <-tick:
		}
	}
}

// hints returns a channel that signals new names in a directory, and a function that
// stops the watching. If the directory cannot be watched, the channel stays silent;
// the caller polls anyway.
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
			wake.Up(hint)
		}
	}()
	return hint, func() {
		w.Close()
		<-done
	}
}
