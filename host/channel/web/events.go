package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

const (
	maxPages   = 512              // event streams in all
	maxTabs    = 64               // event streams of one session
	eventBatch = 64               // messages written at once
	heartbeat  = 20 * time.Second // keeps proxies from ending a quiet stream
	writeLimit = 15 * time.Second // a page that accepts nothing for this long is disconnected; it reconnects and catches up
)

// stream is the event stream of one page.
type stream struct {
	web    *Web
	room   *room
	rw     http.ResponseWriter
	rc     *http.ResponseController
	cursor int64 // the last message written
	seen   int   // the last activity's version written; -1: none
	change int64 // the last change written
	asked  bool  // the history was asked for changes
	others int   // the other chats' messages so far, as the page knows
	by     *session
}

// events is a page's live view: "message" events, whose ids a reconnecting page names to
// get what it missed, and "activity" events.
func (w *Web) events(rw http.ResponseWriter, r *http.Request) {
	c, ok := w.chatOf(rw, r)
	if !ok {
		return
	}
	// Subscribe before reading the history: a message that arrives in between then wakes
	// the stream instead of being missed.
	wake, cancel, ok := w.hub.subscribe(c.name, sessionOf(r.Context()))
	if !ok {
		httpd.Fail(rw, httpd.Refuse(http.StatusServiceUnavailable, "too_many_pages", "too many pages are open", "close some and try again"))
		return
	}
	defer cancel()
	s := &stream{web: w, room: c, rw: rw, rc: http.NewResponseController(rw), seen: -1, by: sessionOf(r.Context())}
	s.others = w.hub.elsewhere(c.name)
	var err error
	if s.cursor, err = w.startOf(r, c); err != nil {
		w.failed(rw, r, err)
		return
	}
	if s.change, err = w.changeOf(r, c); err != nil {
		w.failed(rw, r, err)
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	if s.write([]byte("retry: 1000\n\n")) != nil {
		return
	}
	s.run(r.Context(), wake)
}

// startOf is where the page stopped: the browser's Last-Event-ID, else ?after=, else now.
func (w *Web) startOf(r *http.Request, c *room) (int64, error) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("after")
	}
	if id == "" {
		return w.store.newest(r.Context(), c.name)
	}
	if id == "0" {
		return 0, nil // from the beginning: a page that found the chat empty
	}
	return w.position(r, c, id)
}

// changeOf is the last change that the page has: ?changed=, else the latest.
func (w *Web) changeOf(r *http.Request, c *room) (int64, error) {
	text := r.URL.Query().Get("changed")
	if text == "" {
		return w.store.lastChange(r.Context(), c.name)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, httpd.Refuse(http.StatusBadRequest, "bad_change", "changed is not the number of a change", "use the number that the API gave")
	}
	return n, nil
}

func (s *stream) run(ctx context.Context, wake <-chan struct{}) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	var gone <-chan struct{} // nil without a session: never
	if s.by != nil {
		gone = s.by.gone
	}
	for {
		if err := s.catchUp(ctx); err != nil || s.web.now().chats[s.room.name] == nil {
			return
		}
		select {
		case <-wake:
		case <-gone:
			return
		case <-tick.C:
			if s.by != nil && !s.web.guard.sessions.use(ctx, s.by) {
				return
			}
			if s.write([]byte(": still here\n\n")) != nil {
				return
			}
		case <-s.web.stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// catchUp writes the messages after the cursor, then the activity.
func (s *stream) catchUp(ctx context.Context) error {
	for {
		ms, ok := s.web.hub.after(s.room.name, s.cursor)
		if !ok {
			var err error
			if ms, err = s.web.store.after(ctx, s.room.name, s.cursor, eventBatch); err != nil {
				return err
			}
			if err := s.web.store.markTaken(ctx, s.room.name, ms); err != nil {
				return err
			}
		}
		if len(ms) == 0 {
			break
		}
		var b bytes.Buffer
		for _, m := range ms {
			if err := event(&b, "message", m.ID, m); err != nil {
				return err
			}
		}
		if err := s.write(b.Bytes()); err != nil {
			return err
		}
		s.cursor = ms[len(ms)-1].seq
		s.web.delivered(ctx, s.room, ms)
	}
	if err := s.tellOfChanges(ctx); err != nil {
		return err
	}
	if err := s.tellOfOthers(); err != nil {
		return err
	}
	now := s.web.hub.snapshot(s.room.name)
	if now.version == s.seen {
		return nil
	}
	s.seen = now.version
	var b bytes.Buffer
	if err := event(&b, "activity", "", now); err != nil {
		return err
	}
	return s.write(b.Bytes())
}

// tellOfChanges writes the messages that have changed. The first time it reads the
// history, because a page may have been away for longer than this host has run.
func (s *stream) tellOfChanges(ctx context.Context) error {
	for !s.asked || s.web.hub.changed(s.room.name) > s.change {
		s.asked = true
		changes, err := s.web.store.changesAfter(ctx, s.room.name, s.change, eventBatch)
		if err != nil || len(changes) == 0 {
			return err
		}
		var b bytes.Buffer
		for _, c := range changes {
			if err := event(&b, "change", "", c); err != nil {
				return err
			}
		}
		if err := s.write(b.Bytes()); err != nil {
			return err
		}
		s.change, s.asked = changes[len(changes)-1].N, len(changes) < eventBatch
	}
	return nil
}

// tellOfOthers reports that other chats have news; the page then fetches its list of
// chats.
func (s *stream) tellOfOthers() error {
	n := s.web.hub.elsewhere(s.room.name)
	if n == s.others {
		return nil
	}
	s.others = n
	return s.write([]byte("event: chats\ndata: {}\n\n"))
}

// event appends one event. JSON holds no raw line break, so its content cannot end the
// event early.
func event(b *bytes.Buffer, kind, id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if id != "" {
		fmt.Fprintf(b, "id: %s\n", id)
	}
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", kind, data)
	return nil
}

func (s *stream) write(p []byte) error {
	// Recorders of tests have no deadlines.
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := s.rw.Write(p); err != nil {
		return err
	}
	return s.rc.Flush()
}
