// Package door lets assistants in that share no directory with the host: by HTTP, with a
// token that stands for one conversation of one group.
//
//	state/door/door.db   tokens as hashes, and the calls with their idempotency keys
//	state/door/tmp       bodies while they come; emptied at the start
//	state/door/uploads   files that come in pieces, and what was said of them
//
// A door holds no rule. What comes in is submitted to the group's queue, as if its
// container had written it, and takes the same road: see [ipc.Spool.Submit]. So it is
// authorized, checked, screened, counted, recorded and audited as every other request, and
// a crash at any point ends as it does for the queue.
//
// A call's id and time are committed before it is submitted. The same call again, by its
// key, is submitted with the same id, time and content, so the road knows it.
package remote

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/hostnames"
	"github.com/longshore-bridge/longshore/ipc"
)

// Options is what a Door works with. All but Hosts, Limits, Inbox and Log are needed. The functions are
// asked at each use.
type Options struct {
	Listen string   // host:port, or unix: and the path of a socket
	Hosts  []string // further names that it answers to
	Dir    string   // its own
	Home   store.Home

	Groups  func() *groups.Registry
	Chat    func(groups.Group) ipc.Context // what a group's tools may tell
	Spool   *ipc.Spool
	Wait    func() time.Duration // the longest that a call waits for its result
	Keep    func() time.Duration // how long results stay
	Quota   func() int64         // bytes of a group's bodies that come at the same time
	Reserve func(n int64) (release func(), err error)
	Shares  func(groups.Group) bool // whether the group's assistant shares directories with the host

	Limits Limits // of what comes; the defaults if zero

	Inbox Inbox // nil: no assistant fetches its messages

	Log *slog.Logger // nil: none
}

// Door is a listener for assistants. Its methods may be called from several goroutines.
type Server struct {
	Options
	lock     *os.File
	db       *store.DB
	asks     asks
	listener net.Listener
	names    hostnames.Set
	gate     gate
	bodies   bodies
	uploads  uploads
	polls    polls // for messages
	asking   polls // for answers to questions
	visits   visits
	callers  callers
	turns    turns
	waiting  waiting
	kept     kept
}

// Open opens the store and listens. It answers nobody before Run. Errors are permanent
// except an address in use; those of the store are *store.Error. The caller closes the Door.
func Open(ctx context.Context, o Options) (_ *Server, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Limits = o.Limits.filled()
	d := &Server{Options: o, gate: gate{limits: o.Limits}, kept: kept{most: maxKept}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	spec := Store(o.Dir, o.Home)
	if d.lock, err = store.Lock(spec); err != nil {
		return nil, err
	}
	if d.db, err = store.Open(ctx, spec); err != nil {
		return nil, err
	}
	d.db.SetMaxOpenConns(1) // transactions wait for each other here, not in SQLite
	if d.asks, err = prepare(ctx, d.db); err != nil {
		return nil, err
	}
	if err := d.kept.count(ctx, d.db); err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(d.temp()), os.Mkdir(d.temp(), 0o700), os.MkdirAll(d.uploadDir(), 0o700), os.MkdirAll(d.spentDir(), 0o700)); err != nil {
		return nil, err
	}
	if o.Listen == "" {
		d.names = hostnames.Of("localhost")
		return d, nil
	}
	if d.listener, err = listen(o.Listen); err != nil {
		return nil, err
	}
	d.names = hostnames.Of(d.listener.Addr().String(), o.Hosts...)
	return d, nil
}

func (d *Server) temp() string { return filepath.Join(d.Dir, "tmp") }

// Addr is where the door listens; it must.
func (d *Server) Addr() net.Addr { return d.listener.Addr() }

// Close closes what Open opened. Run must have returned.
func (d *Server) Close() error {
	var errs []error
	if d.listener != nil {
		if err := d.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

const (
	headerSlop = 4 << 10 // that net/http adds to its bound
	endTime    = 5 * time.Second
	sweepEvery = time.Hour
)

// Run serves until ctx is done, which is no error. Calls that wait for their results then
// end; their deliveries go on.
func (d *Server) Run(ctx context.Context) error {
	srv := d.server(func(net.Listener) context.Context { return ctx })
	served := make(chan error, 1)
	go func() { served <- d.serve(ctx, srv) }()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	d.sweep(ctx) // a host that is restarted often would never come to its hour
	for {
		select {
		case err := <-served:
			return err
		case <-sweep.C:
			d.sweep(ctx)
		case <-ctx.Done():
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
			defer cancel()
			if srv.Shutdown(grace) != nil {
				_ = srv.Close()
			}
			<-served
			return nil
		}
	}
}

// sweep forgets what is too old.
func (d *Server) sweep(ctx context.Context) {
	if err := errors.Join(d.forget(ctx), d.expireUploads()); err != nil && ctx.Err() == nil {
		d.Log.Error("old calls at the door are not forgotten", "error", err)
	}
}

// server is a server of the door, whose requests have the context base.
func (d *Server) server(base func(net.Listener) context.Context) *http.Server {
	return &http.Server{
		Handler: d, ReadHeaderTimeout: d.Limits.HeaderTime, IdleTimeout: time.Minute, MaxHeaderBytes: max(d.Limits.Header-headerSlop, 1),
		ErrorLog:    slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
		BaseContext: base, ConnContext: withConn,
	}
}

// serve serves the door's own listener, if there is one.
func (d *Server) serve(ctx context.Context, srv *http.Server) error {
	if d.listener == nil {
		<-ctx.Done()
		return nil
	}
	return srv.Serve(&counted{d.listener, &d.gate})
}
