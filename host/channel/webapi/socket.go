package webapi

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// Socket opens a websocket, and hears it until hear returns or the connection is lost. A frame may have
// most bytes. It pings so often, unless ping is 0, and ends a connection that does not answer in as long
// again. It ends the connection without a goodbye.
func (a *API) Socket(ctx context.Context, address string, most int64, ping time.Duration, hear func(ctx context.Context, conn *websocket.Conn) error) error {
	conn, res, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: a.Client})
	if res != nil && res.Body != nil {
		defer res.Body.Close()
	}
	if err != nil {
		return fmt.Errorf("open the connection to %s: %w", a.Who, hideAddress(err))
	}
	conn.SetReadLimit(most)
	ctx, end := context.WithCancel(ctx)
	var pings sync.WaitGroup
	defer pings.Wait()
	defer end()
	defer conn.CloseNow()
	if ping > 0 {
		pings.Go(func() { alive(ctx, conn, ping) })
	}
	return hear(ctx, conn)
}

// alive pings until ctx is done, and ends a connection that does not answer.
func alive(ctx context.Context, conn *websocket.Conn, every time.Duration) {
	for range wake.Every(ctx, every) {
		ctx, cancel := context.WithTimeout(ctx, every)
		err := conn.Ping(ctx)
		cancel()
		if err != nil {
			_ = conn.CloseNow()
			return
		}
	}
}

var anyAddress = regexp.MustCompile(`(https?|wss?)://[^\s"]+`)

// hideAddress removes addresses from an error: one may have a ticket.
func hideAddress(err error) error {
	return errors.New(media.Cut(media.Printable(anyAddress.ReplaceAllString(err.Error(), "…")), 300))
}
