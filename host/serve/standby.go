package serve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/upkeep"
)

// Standby is a host of a cluster before it owns. It answers on each address of the configuration that
// another host owns, and the operator's commands as operator.Standby does.
type Standby struct {
	opts      Options
	cluster   *cluster.Host
	cfg       atomic.Pointer[config.Config]
	own       operator.Standby
	down      *upkeep.List
	reloading sync.Mutex
}

// NewStandby returns a host that stands by in a cluster.
func NewStandby(cfg *config.Config, in *cluster.Host, opts Options) *Standby {
	s := &Standby{opts: opts, cluster: in, down: upkeep.New(opts.Log)}
	s.own = operator.Standby{Cluster: in, Version: opts.Version, State: cfg.State.Directory, Started: time.Now(), Parts: s.down, Reloads: s}
	s.cfg.Store(cfg)
	return s
}

// Wait stands by until this host owns. It returns the lease and the configuration that was read last.
// The error is that of ctx. All addresses are free again when it returns.
func (s *Standby) Wait(ctx context.Context) (*cluster.Lease, *config.Config, error) {
	serving, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	control := operator.Server{Dir: operator.ControlDir(s.cfg.Load().Layout()), Standby: &s.own, Health: s.own.Health(), Log: s.opts.Log}
	running.Go(func() { runControl(serving, s.down, &control) })
	for _, l := range s.listeners(s.cfg.Load()) {
		running.Go(func() { _ = l.Run(serving) }) // it has no error
		defer func() { _ = l.Close() }()
	}
	lease, err := s.cluster.Wait(ctx)
	stop()
	running.Wait()
	return lease, s.cfg.Load(), err
}

// listeners are those of the addresses at which the owner answers.
func (s *Standby) listeners(cfg *config.Config) (all []*upkeep.Listener) {
	for _, l := range cfg.Listens() {
		var answers upkeep.Server = refusing{l.Address, s.own.Refusing(), s.opts.Log}
		if l.Key == "metrics" {
			answers = operator.HealthServer{Address: l.Address, Hosts: cfg.Metrics.Hosts, Health: s.own.Health()}
		}
		all = append(all, s.down.Listener(l.Key, answers))
	}
	return all
}

// refusing is an address at which only the owner answers.
type refusing struct {
	address string
	answer  http.Handler
	log     *slog.Logger
}

func (r refusing) Listen() (net.Listener, error) { return httpd.Listen(r.address) }

func (r refusing) Serve(ctx context.Context, l net.Listener) error {
	return (&httpd.Server{Handler: r.answer, Log: r.log, Cancel: true}).Serve(ctx, l)
}

// Reload implements operator.Reloader: it reads the configuration with which this host would own.
func (s *Standby) Reload(_ context.Context, _ bool) (operator.Reloaded, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	answer := operator.Reloaded{File: s.cfg.Load().File, Applied: time.Now(), Changes: []string{}, Problems: []string{}}
	next, problems, err := s.opts.File.Load(nil)
	if err != nil {
		s.opts.Log.Error("configuration not read; the host stands by with the one from before", "error", err)
		return answer, err
	}
	for _, p := range problems {
		answer.Problems = append(answer.Problems, p.Error())
		s.opts.Log.Error("configuration refused; the host stands by with the one from before", "problem", p.Position()+p.Message, "hint", p.Hint)
	}
	if len(problems) > 0 {
		return answer, nil
	}
	answer.Changes = append(answer.Changes, config.Compare(s.cfg.Load(), next).Lines...)
	s.cfg.Store(next)
	s.cluster.SetConfig(next.Common())
	return answer, nil
}
