package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	historyBytes  = 64 << 10 // of messages that a stream reads at once
	changesAtOnce = 8
	historySpeed  = 8 << 10          // bytes a second
	heartbeat     = 20 * time.Second // keeps proxies from ending a quiet stream
	sendBuffer    = 64 << 10         // what the system buffers for a stream that is not read
)

// stream is the event stream of one page.
type stream struct {
	*follower
	web   *Web
	room  *room
	rw    http.ResponseWriter
	rc    *http.ResponseController
	since time.Time // when it had written all that there was
	by    *session.Session
}

// events streams a page's live view: "message" events, whose ids a reconnecting page names
// to get what it missed, and "activity" events.
func (w *Web) events(rw http.ResponseWriter, r *http.Request, c *room) error {
	rc := http.NewResponseController(rw)
	s := &stream{follower: &follower{conn: rc}, web: w, room: c, rw: rw, rc: rc, by: session.Of(r.Context())}
	if r.Method == http.MethodGet { // an answer to HEAD has no body
		s.atOnce = httpd.AtOnce(r.Context())
	}
	// Follow before reading the history: a message that arrives in between then comes as an
	// event instead of being missed.
	now, leave, ok := w.hub.follow(c.name, w.guard.Sender(r), s.follower)
	if !ok {
		return httpd.Refuse(http.StatusServiceUnavailable, "too_many_pages", "too many pages are open", "close some and try again")
	}
	defer leave()
	var err error
	if s.cursor, err = w.startOf(r, c); err != nil {
		return err
	}
	if s.change, err = w.changeOf(r, c); err != nil {
		return err
	}
	httpd.SendBuffer(r.Context(), sendBuffer)
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("X-Accel-Buffering", "no")       // nginx would hold events back
	rw.Header().Set("Transfer-Encoding", "identity") // each event is one write; the stream ends with its connection
	if s.write([]byte("retry: 1000\n\n"), soon()) == nil {
		s.run(r.Context(), now)
	}
	return nil
}

// startOf returns the last message that the page has: the browser's Last-Event-ID, else
// ?after=, else the newest.
func (w *Web) startOf(r *http.Request, c *room) (int64, error) {
	id := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	if id == "" {
		return w.store.Newest(r.Context(), c.name)
	}
	if id == "0" {
		return 0, nil // from the beginning: a page that found the chat empty
	}
	return w.position(r, c, id)
}

// changeOf returns the last change that the page has: ?changed=, else the latest.
func (w *Web) changeOf(r *http.Request, c *room) (int64, error) {
	text := r.URL.Query().Get("changed")
	if text == "" {
		return w.store.LastChange(r.Context(), c.name)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, httpd.Refuse(http.StatusBadRequest, "bad_change", "changed is not the number of a change", "use the number that the API gave")
	}
	return n, nil
}

func (s *stream) run(ctx context.Context, now []byte) {
	if s.catchUp(ctx) != nil || s.write(now, soon()) != nil {
		return
	}
	s.since = time.Now()
	tick := time.Tick(heartbeat)
	for {
		if s.advance(ctx) != nil || s.web.stopping.Load() || s.web.now().chats[s.room.name] == nil {
			return
		}
		select {
		case <-s.wake:
		case <-s.by.Gone():
			return
		case <-tick:
			if s.by != nil && !s.web.guard.Use(ctx, s.by) || s.beat() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// beat keeps a quiet stream alive.
func (s *stream) beat() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live { // there is something to write
		return nil
	}
	return s.write([]byte(": still here\n\n"), soon())
}

// advance writes what the hub has not written: the rest of an event, and the next ones.
func (s *stream) advance(ctx context.Context) error {
	tell, err := s.writeAll()
	if len(tell) > 0 {
		s.web.delivered(ctx, s.room, tell)
	}
	return err
}

func (s *stream) writeAll() (tell []*history.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { tell, s.tell = s.tell, nil }()
	for {
		select {
		case <-s.at.more:
		default:
			s.live = true
			return nil, nil
		}
		s.live = false
		if err := s.pass(s.at.next); err != nil {
			return nil, err
		}
	}
}

// pass writes an event, unless it came with the history.
func (s *stream) pass(e *event) error {
	bytes := e.bytes
	switch {
	case len(s.rest) > 0:
		bytes = s.rest
	case s.has(e):
		bytes = nil
	}
	if len(bytes) > 0 {
		due := e.at
		if due.Before(s.since) {
			due = s.since
		}
		if err := s.write(bytes, due.Add(maxLate)); err != nil {
			return err
		}
	}
	s.wrote(e)
	return nil
}

// catchUp writes what the history has after the page's last message and last change.
func (s *stream) catchUp(ctx context.Context) error {
	for {
		ms, err := s.web.store.Some(ctx, s.room.name, s.cursor)
		if err == nil {
			err = s.web.store.MarkTaken(ctx, s.room.name, ms)
		}
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			break
		}
		for _, m := range ms {
			if err := s.old(m); err != nil {
				return err
			}
			s.cursor = m.Seq
		}
		s.web.delivered(ctx, s.room, ms)
	}
	for {
		changes, err := s.web.store.ChangesAfter(ctx, s.room.name, s.change, changesAtOnce)
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, c := range changes {
			if err := s.old(&c); err != nil {
				return err
			}
			s.change = c.N
		}
	}
}

// old writes what the history has. A page on a slow line may take longer for it, at
// historySpeed: the event is this stream's own, and delays no other.
func (s *stream) old(what any) error {
	b := encoded(what).bytes
	return s.write(b, soon().Add(time.Duration(len(b))*time.Second/historySpeed))
}

func soon() time.Time { return time.Now().Add(maxLate) }

var errBehind = errors.New("the page is too slow")

// write writes to the page, which must take it until due.
func (s *stream) write(p []byte, due time.Time) error {
	// Recorders of tests have no deadlines.
	_ = s.rc.SetWriteDeadline(due)
	if s.ended.Load() { // asked after the deadline was set, which stop sets too
		return errBehind
	}
	if _, err := s.rw.Write(p); err != nil {
		return err
	}
	return s.rc.Flush()
}
