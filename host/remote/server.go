// Package remote lets assistants in that share no directory with the host: by HTTP, with a
// token that stands for one conversation of one group.
//
//	state/longshore.db    tokens as hashes, calls with their idempotency keys, what uploads are to be
//	state/remote/tmp      bodies while they come; emptied at the start
//	state/remote/uploads  the bytes of files that come in pieces
//
// It holds no rule. A call is submitted to the group's queue, as if its container had written
// it, and takes the same road: see [spool.Spool.Submit]. So it is authorized, checked, screened,
// counted, recorded and audited as every other request, and a crash at any point ends as it
// does for the queue.
//
// A call's id and time are committed before it is submitted. The same call again, by its
// key, is submitted with the same id, time and content, so the road knows it.
package remote

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/calls"
	"github.com/longshore-bridge/longshore/host/remote/gate"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// Options are what a Server works with. All but Hosts, Limits, Inbox and Log are needed.
type Options struct {
	Listen string   // host:port, or unix: and the path of a socket; empty: only Admit lets in
	Hosts  []string // further names that it answers to
	Dir    string   // its own
	State  *state.DB

	Live  Live
	Chats Chats
	Spool *spool.Spool
	Disk  intake.Disk

	Records Records

	Limits intake.Limits // the defaults if zero

	Inbox Inbox // nil: no assistant fetches its messages

	Log *slog.Logger // nil: none
}

// Live is the configuration in force. It is asked at each use.
type Live interface {
	Registry() *groups.Registry
	SharesDirectories(groups.Group) bool // whether the group's assistant does with the host
	Wait() time.Duration                 // the longest that a call waits for its result
	KeepResults() time.Duration
	Quota() int64 // bytes of a group's bodies that come at the same time
}

// Chats know what a group's tools may tell their agent.
type Chats interface {
	Context(groups.Group) ipc.Context
}

// Records know the deliveries: *records.Reader.
type Records interface {
	// Requested reports whether a group's request with this id was recorded.
	Requested(ctx context.Context, folder, request string) (bool, error)
}

// Server listens for assistants. Its methods may be called from several goroutines.
type Server struct {
	Options
	*tokens.Tokens
	calls   *calls.Store
	handler http.Handler
	ready   bool // the directories are made
	gate    gate.Gate
	bodies  *intake.Bodies
	uploads uploads
	polls   polls // for messages
	asking  polls // for answers to questions
	waiting waiting
}

// Open opens the Server, which answers nobody before Serve or Admit.
func Open(ctx context.Context, o Options) (_ *Server, err error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Limits = o.Limits.Filled()
	s := &Server{
		Options: o, gate: gate.Gate{Strangers: o.Limits.Strangers, Group: o.Limits.Group},
		bodies: intake.NewBodies(o.Live, o.Disk),
	}
	if s.Tokens, err = tokens.New(ctx, o.State, o.Live, o.Log); err != nil {
		return nil, err
	}
	s.calls = calls.New(o.State, o.Limits.Calls)
	if err := s.prepare(); err != nil { // Listen tries again
		o.Log.Error("bodies of calls cannot be kept", "error", err)
	}
	guard := &httpd.Guard{Programs: true, Hint: "use its own address, or have the operator add the name to remote.hosts"}
	if o.Listen != "" {
		guard.Names = httpd.NamesOf(o.Listen, o.Hosts...)
	}
	s.handler = guard.Wrap(s.authenticated(s.mux()))
	return s, nil
}

func (s *Server) temp() string { return filepath.Join(s.Dir, "tmp") }

// prepare makes the Server's directories, once.
func (s *Server) prepare() (err error) {
	if !s.ready {
		err = errors.Join(os.RemoveAll(s.temp()), os.MkdirAll(s.temp(), 0o700), os.MkdirAll(s.uploadDir(), 0o700))
		s.ready = err == nil
	}
	return err
}

// Listen listens for Serve. Before, only Admit lets in.
func (s *Server) Listen() (net.Listener, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return httpd.Listen(s.Options.Listen)
}

const (
	endTime    = 5 * time.Second
	sweepEvery = time.Hour
	keyFor     = 24 * time.Hour // how long a key is remembered at least
)

// Serve serves until ctx is done, which is no error, and closes l. Calls that wait for their results
// then end; their deliveries go on.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.server(endTime).Serve(ctx, l)
}

// Sweep deletes what is too old, at once and every hour until ctx is done: a host that is restarted
// often would never come to its hour.
func (s *Server) Sweep(ctx context.Context) {
	for s.sweep(ctx); wake.Sleep(ctx, sweepEvery); {
		s.sweep(ctx)
	}
}

// sweep deletes what is too old.
func (s *Server) sweep(ctx context.Context) {
	if err := s.deleteOld(ctx); err != nil && ctx.Err() == nil {
		s.Log.Error("old calls of assistants elsewhere are not deleted", "error", err)
	}
}

func (s *Server) deleteOld(ctx context.Context) error {
	before := time.Now().Add(-max(keyFor, s.Live.KeepResults()))
	return errors.Join(s.calls.DeleteBefore(ctx, before), s.Tokens.Forget(ctx, before), s.expireUploads())
}

// Admit serves a group's assistant over a listener of its own, and returns the token that
// it must show there, for a thread of the group's chat or the chat itself. end closes the
// listener, refuses the token from then on, and returns when all calls have ended; what was
// accepted goes on. Errors are refusals.
func (s *Server) Admit(l net.Listener, folder, thread string) (token string, end func(), err error) {
	ctx, token, forget, err := s.OpenSession(context.Background(), folder, thread)
	if err != nil {
		return "", nil, err
	}
	running := s.server(0).Start(ctx, l)
	return token, sync.OnceFunc(func() {
		running.Close() // ends the calls, for which forget waits
		forget()
	}), nil
}

// server is an HTTP server whose requests end with it, at the latest after grace.
func (s *Server) server(grace time.Duration) *httpd.Server {
	return &httpd.Server{Handler: s, Log: s.Log, HeaderTime: s.Limits.HeaderTime, Header: s.Limits.Header, Reads: s.Limits.Least(), Conns: &s.gate,
		Cancel: true, Grace: grace}
}
