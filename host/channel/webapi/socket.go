package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

const writeWithin = 10 * time.Second // one frame

// Socket is a websocket that Listen has opened.
type Socket struct {
	conn   *websocket.Conn
	beside sync.WaitGroup
}

// Go runs a function beside the connection. Its context is that of the frames, which ends with the connection.
func (s *Socket) Go(do func()) { s.beside.Go(do) }

// Drop ends the connection without a goodbye.
func (s *Socket) Drop() { _ = s.conn.CloseNow() }

// Write sends a value as JSON.
func (s *Socket) Write(ctx context.Context, v any) error {
	frame, err := json.Marshal(v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, frame)
}

// Listen opens a websocket and calls hear with each frame, of up to most bytes, until hear fails or the
// connection is lost. It pings so often, unless ping is 0, and ends a connection that does not answer in
// as long again.
func (a *API) Listen(ctx context.Context, address string, most int64, ping time.Duration, hear func(ctx context.Context, s *Socket, frame []byte) error) error {
	conn, res, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: a.Client})
	if res != nil && res.Body != nil {
		defer res.Body.Close()
	}
	if err != nil {
		return fmt.Errorf("open the connection to %s: %w", a.Who, hideAddress(err))
	}
	conn.SetReadLimit(most)
	ctx, end := context.WithCancel(ctx)
	s := &Socket{conn: conn}
	defer s.beside.Wait()
	defer end()
	defer s.Drop()
	if ping > 0 {
		s.Go(func() { s.alive(ctx, ping) })
	}
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read from %s: %w", a.Who, err)
		}
		if err := hear(ctx, s, frame); err != nil {
			return err
		}
	}
}

// alive pings until ctx is done, and ends a connection that does not answer.
func (s *Socket) alive(ctx context.Context, every time.Duration) {
	for range wake.Every(ctx, every) {
		ctx, cancel := context.WithTimeout(ctx, every)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil {
			s.Drop()
			return
		}
	}
}

var anyAddress = regexp.MustCompile(`(https?|wss?)://[^\s"]+`)

// hideAddress removes addresses from an error: one may have a ticket.
func hideAddress(err error) error {
	return errors.New(media.Cut(media.Printable(anyAddress.ReplaceAllString(err.Error(), "…")), 300))
}
