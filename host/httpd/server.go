package httpd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an HTTP server of the host. Of its fields only Handler is needed.
//
// A header must come within HeaderTime. A body has at most 64 KiB and must come at the speed Quick,
// unless its handler calls Body. A client that reads its answers too slowly is cut off; only the
// time in which the server waits for it counts.
type Server struct {
	Handler    http.Handler
	Log        *slog.Logger  // nil: none
	HeaderTime time.Duration // 5 seconds if zero
	Header     int           // bytes of a header; 16 KiB if zero
	Reads      Speed         // of the slowest reader of an answer; Steady if zero
	Conns      Conns         // an AtMost of 2048 if nil

	Cancel bool          // the contexts of requests end with that of Serve
	Grace  time.Duration // how long requests may run on then; their clients may repeat those that are cut off
	Ending func()        // ends what would go on for ever, such as streams; may be nil
}

// Conns hears of each connection of a server, before its first request and after its last. It may
// close it.
type Conns interface {
	Opened(net.Conn)
	Closed(net.Conn)
}

// AtMost closes at once each connection that is one too many. None waits unaccepted: over ssh that
// would hold up every other group of the same engine.
type AtMost struct {
	Conns int32 // open at the same time
	open  atomic.Int32
}

// Opened implements Conns.
func (a *AtMost) Opened(c net.Conn) {
	if a.open.Add(1) > a.Conns {
		_ = c.Close()
	}
}

// Closed implements Conns.
func (a *AtMost) Closed(net.Conn) { a.open.Add(-1) }

// usualConns is how many connections a server has whose Conns is nil: no flood of one takes the
// descriptors that the whole host needs.
const usualConns = 2048

// headerSlop is what net/http adds to its bound.
const headerSlop = 4 << 10

// Serve serves until ctx is done, which is no error, and closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	log := cmp.Or(s.Log, slog.New(slog.DiscardHandler))
	conns := cmp.Or[Conns](s.Conns, &AtMost{Conns: usualConns})
	above := ctx
	if !s.Cancel {
		above = context.WithoutCancel(ctx)
	}
	srv := &http.Server{
		Handler:                      http.HandlerFunc(s.serve),
		ReadHeaderTimeout:            cmp.Or(s.HeaderTime, 5*time.Second),
		IdleTimeout:                  time.Minute,
		DisableGeneralOptionsHandler: true, // it waits for a body without end
		MaxHeaderBytes:               max(cmp.Or(s.Header, 16<<10)-headerSlop, 1),
		BaseContext:                  func(net.Listener) context.Context { return above },
		ConnContext:                  WithConn,
		ConnState:                    func(c net.Conn, to http.ConnState) { state(conns, c, to) },
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(timed{l, cmp.Or(s.Reads, Steady)}) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("serve: %w", err)
	}
	if s.Ending != nil {
		s.Ending()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close()
	}
	if err == nil {
		<-served
	}
	return err
}

// Running is a server that Start has started.
type Running struct {
	end    context.CancelFunc
	served sync.WaitGroup
}

// Start is Serve in a goroutine, until Close.
func (s *Server) Start(ctx context.Context, l net.Listener) *Running {
	r := &Running{}
	ctx, r.end = context.WithCancel(ctx)
	r.served.Go(func() {
		if err := s.Serve(ctx, l); err != nil && s.Log != nil {
			s.Log.Debug("a server has ended", "error", err)
		}
	})
	return r
}

// Close ends the server, and returns when it has ended.
func (r *Running) Close() {
	r.end()
	r.served.Wait()
}

// serve bounds a request's body.
func (s *Server) serve(rw http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		r.Body = Body(rw, r, usualBody, Quick)
	}
	s.Handler.ServeHTTP(rw, r)
}

func state(conns Conns, c net.Conn, to http.ConnState) {
	switch to {
	case http.StateIdle:
		_ = c.SetWriteDeadline(time.Time{}) // a request's handler may have set one
	case http.StateNew:
		conns.Opened(c)
	case http.StateClosed:
		conns.Closed(c)
	}
}

type connKey struct{}

// WithConn returns the context of a connection's requests.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// ConnOf returns a request's connection, as Conns has heard of it; nil in a test without one.
func ConnOf(ctx context.Context) net.Conn {
	c, _ := ctx.Value(connKey{}).(net.Conn)
	return c
}
