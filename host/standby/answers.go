package standby

import (
	"context"
	"net/http"
	"os"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Answer implements operator.Standby: this host's status, its findings and its configuration. All else
// is the owner's.
func (s *Standby) Answer(ctx context.Context, name string) (any, error) {
	switch name {
	case "status":
		return s.status(ctx), nil
	case "findings":
		return s.findings(ctx), nil
	case "reload":
		return s.Reload(ctx, false)
	}
	return nil, s.elsewhere()
}

func (s *Standby) status(ctx context.Context) operator.Status {
	v, dir := s.opts.Cluster.View(), s.cfg.Load().State.Directory
	return operator.Status{
		Running: true, PID: os.Getpid(), Version: s.opts.Version, Started: s.started, State: dir, Disk: operator.DiskOf(dir), Cluster: &v,
		Channels: []operator.Channel{}, Groups: []operator.Group{}, Assistants: []operator.Assistant{}, Failures: []operator.Item{},
		Findings: finding.Wrong(s.findings(ctx)),
	}
}

func (s *Standby) findings(ctx context.Context) []finding.Finding {
	return s.list.Since(finding.Merge(s.opts.Cluster.Findings(ctx), s.down.Findings(ctx)))
}

// elsewhere refuses what the owner alone does.
func (s *Standby) elsewhere() *refusal.Error {
	v := s.opts.Cluster.View()
	r := &refusal.Error{Code: operator.CodeStandby, Message: "this host, " + v.Host + ", stands by: " + v.Who().Cause, Hint: "try again in a few seconds; longshore status says why nobody owns"}
	if v.Owned {
		r.Hint = "ask " + v.Owner
	}
	return r
}

// health is the handler of the paths of a host's health: this one lives, and is not ready.
func (s *Standby) health() http.Handler {
	mux := &httpd.Mux{}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		httpd.Answer(w, http.StatusOK, operator.Wellness{Status: operator.CodeStandby, Findings: finding.Wrong(s.findings(r.Context()))})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		httpd.Answer(w, http.StatusServiceUnavailable, operator.Wellness{Status: operator.CodeStandby, Findings: finding.Wrong(s.findings(r.Context())), Error: s.elsewhere()})
	})
	mux.Handle("GET /metrics", operator.StandbyMetrics(s.opts.Cluster))
	mux.HandleFunc("/", s.refuse)
	return mux
}

// refuse answers at an address of the owner's.
func (s *Standby) refuse(w http.ResponseWriter, _ *http.Request) {
	httpd.Harden(w.Header())
	w.Header().Set("Connection", "close") // the next one may be the owner's
	r := s.elsewhere()
	httpd.Fail(w, httpd.Refuse(http.StatusServiceUnavailable, r.Code, r.Message, r.Hint))
}
