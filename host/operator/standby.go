package operator

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// CodeStandby is of what a host that stands by does not do.
const CodeStandby = "standby"

// Standby is a host that another one of its cluster keeps from running. It answers its status and its
// findings; all else is the owner's.
type Standby struct {
	Cluster *cluster.Host
	Version string    // of the program
	State   string    // the state directory
	Started time.Time // when the host began to stand by
	Parts   finding.Source
	Reloads Reloader

	list finding.List
}

// Reloader reads the configuration again.
type Reloader interface {
	Reload(ctx context.Context, remove bool) (Reloaded, error)
}

// Status describes the host.
func (s *Standby) Status(ctx context.Context) Status {
	return Status{
		Running: true, PID: os.Getpid(), Version: s.Version, Started: s.Started, State: s.State, Disk: diskOf(s.State), Cluster: clusterOf(s.Cluster),
		Channels: []Channel{}, Groups: []Group{}, Assistants: []Assistant{}, Failures: []Item{}, Findings: finding.Wrong(s.Findings(ctx)),
	}
}

// Findings implements finding.Source.
func (s *Standby) Findings(ctx context.Context) []finding.Finding {
	return s.list.Since(finding.Merge(s.Cluster.Findings(ctx), s.Parts.Findings(ctx)))
}

// Elsewhere refuses what the owner alone does.
func (s *Standby) Elsewhere() *refusal.Error {
	v := s.Cluster.View()
	if !v.Owned {
		return &refusal.Error{Code: CodeStandby, Message: "this host, " + v.Host + ", stands by, and no other host of the cluster owns now", Hint: "try again in a few seconds; longshore status says why nobody owns"}
	}
	return &refusal.Error{Code: CodeStandby, Message: "this host, " + v.Host + ", stands by: " + v.Owner + " owns", Hint: "ask " + v.Owner}
}

// answer makes a call of ops.
func (s *Standby) answer(ctx context.Context, name string) (any, error) {
	switch name {
	case "status":
		return s.Status(ctx), nil
	case "findings":
		return s.Findings(ctx), nil
	case "reload":
		return s.Reloads.Reload(ctx, false)
	}
	return nil, s.Elsewhere()
}

// Health returns the handler of the paths of Local.Health: the host lives, and is not ready.
func (s *Standby) Health() http.Handler {
	mux := &httpd.Mux{}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		httpd.Answer(w, http.StatusOK, wellness{Status: "standby", Findings: finding.Wrong(s.Findings(r.Context()))})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		httpd.Answer(w, http.StatusServiceUnavailable, wellness{Status: "standby", Findings: finding.Wrong(s.Findings(r.Context())), Error: s.Elsewhere()})
	})
	mux.Handle("/", s.refusing())
	return mux
}

// StandbyServer answers at an address of the owner's.
type StandbyServer struct {
	Address string // host:port, or unix: and a path
	Standby *Standby
	Log     *slog.Logger
}

// Listen listens for Serve.
func (s StandbyServer) Listen() (net.Listener, error) { return httpd.Listen(s.Address) }

// Serve serves until ctx is done, which is no error, and closes l.
func (s StandbyServer) Serve(ctx context.Context, l net.Listener) error {
	return (&httpd.Server{Handler: s.Standby.refusing(), Log: s.Log, Cancel: true}).Serve(ctx, l)
}

// refusing returns the handler of an address at which the owner answers.
func (s *Standby) refusing() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		httpd.Harden(w.Header())
		w.Header().Set("Connection", "close") // the next one may be the owner's
		r := s.Elsewhere()
		httpd.Fail(w, httpd.Refuse(http.StatusServiceUnavailable, r.Code, r.Message, r.Hint))
	})
}
