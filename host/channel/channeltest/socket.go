package channeltest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Socket is a client's connection to a loopback server, by websocket.
type Socket struct {
	ctx  context.Context
	work *sync.WaitGroup
	ws   *websocket.Conn
	out  chan any // what goes to the client; closed by nobody

	End context.CancelFunc // breaks the connection
}

// Talker is what a server does on its sockets.
type Talker interface {
	Opened(*Socket)
	Said(*Socket, []byte) error // which ends the connection: a websocket.CloseError with its code
	Left(*Socket)
}

// ServeSocket serves a client until one of both ends it, or life is over. work counts the
// goroutines.
func ServeSocket(life context.Context, work *sync.WaitGroup, rw http.ResponseWriter, r *http.Request, with Talker) {
	work.Add(1) // while the server still waits for this request
	defer work.Done()
	ws, err := websocket.Accept(rw, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // clients name the platform as their origin
	if err != nil {
		return
	}
	c := &Socket{work: work, ws: ws, out: make(chan any, 10_000)}
	c.ctx, c.End = context.WithCancel(life)
	with.Opened(c)
	work.Go(c.write)
	c.listen(with)
	c.End()
	with.Left(c)
	_ = ws.CloseNow()
}

// Send sends an object to the client. It does not wait.
func (c *Socket) Send(object any) { c.out <- object }

// Every does something at once and then each time that passes, until it fails or the connection ends.
func (c *Socket) Every(each time.Duration, do func(context.Context) error) {
	c.work.Go(func() {
		tick := time.NewTicker(each)
		defer tick.Stop()
		for do(c.ctx) == nil {
			select {
			case <-c.ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// Ping pings the client.
func (c *Socket) Ping(ctx context.Context) error { return c.ws.Ping(ctx) }

func (c *Socket) write() {
	defer c.ws.CloseNow()
	for {
		select {
		case <-c.ctx.Done():
			return
		case o := <-c.out:
			data, err := json.Marshal(o)
			if err != nil || c.ws.Write(c.ctx, websocket.MessageText, data) != nil {
				c.End()
				return
			}
		}
	}
}

func (c *Socket) listen(with Talker) {
	for {
		_, data, err := c.ws.Read(c.ctx)
		if err == nil {
			err = with.Said(c, data)
		}
		if closed, ok := errors.AsType[websocket.CloseError](err); ok {
			_ = c.ws.Close(closed.Code, closed.Reason)
		}
		if err != nil {
			return
		}
	}
}
