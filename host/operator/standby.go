package operator

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// CodeStandby is of what a host that stands by does not do.
const CodeStandby = "standby"

// Standby is a host that another one of its cluster keeps from running.
type Standby interface {
	// Answer makes the call of ops with that name.
	Answer(ctx context.Context, name string) (any, error)
}

// StandbyServer answers at an address of the owner's.
type StandbyServer struct {
	Address string // host:port, or unix: and a path
	Handler http.Handler
	Log     *slog.Logger
}

// Listen listens for Serve.
func (s StandbyServer) Listen() (net.Listener, error) { return httpd.Listen(s.Address) }

// Serve serves until ctx is done, which is no error, and closes l.
func (s StandbyServer) Serve(ctx context.Context, l net.Listener) error {
	return (&httpd.Server{Handler: s.Handler, Log: s.Log, Cancel: true}).Serve(ctx, l)
}
