package httpd

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timed is a listener whose connections end if their reader is too slow. Whoever opens
// a connection and does not read would otherwise hold a handler for ever.
type timed struct {
	net.Listener
	speed Speed
}

func (t timed) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &timedConn{Conn: c, speed: t.speed, left: t.speed.Grace}, nil
}

// timedConn fails writes to a reader that is slower than speed. Only the time in which a write
// waits counts, so a stream that says nothing for an hour goes on.
type timedConn struct {
	net.Conn
	speed   Speed
	mu      sync.Mutex
	left    time.Duration // how long the next write may wait, beside the time for its bytes
	own     time.Time     // a handler's deadline; zero: none
	writing bool
}

// SetWriteDeadline sets a handler's own deadline. The earlier of that and ours counts. It
// costs a timer, so it is set only if a write waits; the next write sets it otherwise.
func (c *timedConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = t
	if !c.writing {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline is for both directions.
func (c *timedConn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

func (c *timedConn) Write(p []byte) (int, error) {
	n, err := c.inTime(int64(len(p)), func() (int64, error) {
		n, err := c.Conn.Write(p)
		return int64(n), err
	})
	return int(n), err
}

// CloseWrite ends the direction to the client. net/http calls it after an answer to a request that
// it does not read to its end: without it the client gets a reset instead of the answer.
func (c *timedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// pieceBytes is how much of a file is handed to the system under one deadline.
const pieceBytes = 256 << 10

// ReadFrom lets the system copy a file to the connection, a piece at a time.
func (c *timedConn) ReadFrom(r io.Reader) (sent int64, err error) {
	to, ok := c.Conn.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	rest := int64(-1) // to the end
	if l, limited := r.(*io.LimitedReader); limited {
		r, rest = l.R, l.N
		defer func() { l.N -= sent }()
	}
	for rest != 0 {
		piece := int64(pieceBytes)
		if rest > 0 {
			piece = min(piece, rest)
		}
		n, err := c.inTime(piece, func() (int64, error) { return to.ReadFrom(io.LimitReader(r, piece)) })
		sent += n
		if rest > 0 {
			rest -= n
		}
		if err != nil || n < piece {
			return sent, err
		}
	}
	return sent, nil
}

// inTime runs a write of so many bytes under a deadline, and counts the time that it took.
func (c *timedConn) inTime(bytes int64, write func() (int64, error)) (int64, error) {
	start := time.Now()
	c.mu.Lock()
	allowed := c.left + c.speed.timeFor(bytes)
	until := start.Add(allowed)
	if !c.own.IsZero() && c.own.Before(until) {
		until = c.own
	}
	err := c.Conn.SetWriteDeadline(until)
	c.writing = err == nil
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := write()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
	c.left = min(c.speed.Grace, allowed-time.Since(start))
	return n, err
}

// AtOnce returns a Writer that writes what a request's connection takes without a wait; nil
// if the connection has none. It bypasses the buffer of net/http: a handler uses it after a
// Flush, in an answer without a length and without chunks.
func AtOnce(ctx context.Context) io.Writer {
	c, ok := ctx.Value(connKey{}).(*timedConn)
	if !ok {
		return nil
	}
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return atOnce{raw}
}

type atOnce struct{ raw syscall.RawConn }

func (a atOnce) Write(p []byte) (n int, err error) {
	failed := a.raw.Write(func(fd uintptr) bool {
		n, err = unix.Write(int(fd), p)
		return true
	})
	return max(n, 0), errors.Join(err, failed)
}

// SendBuffer bounds what the system holds for a request's client that does not read, in
// bytes. It is for streams: a large file needs what the system gives by itself.
func SendBuffer(ctx context.Context, bytes int) {
	if c, ok := ctx.Value(connKey{}).(*timedConn); ok {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(bytes) // it then holds more
		}
	}
}
