// Package standby is a host of a cluster before it owns: it says at each of its addresses who does.
package standby

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Options are what a Standby works with.
type Options struct {
	Cluster *cluster.Host
	Version string // of the program
	File    File
	Log     *slog.Logger
}

// File is the file of a host's configuration.
type File interface {
	// Load reads and checks it again: all that is wrong with it, or an error of a file that could
	// not be read.
	Load(registered []groups.Group) (*config.Config, []*config.Problem, error)
}

// Standby is a host that stands by.
type Standby struct {
	opts      Options
	cfg       atomic.Pointer[config.Config]
	started   time.Time
	down      *upkeep.List
	list      finding.List
	reloading sync.Mutex
}

// New returns a host that stands by, with the configuration with which it would own.
func New(cfg *config.Config, o Options) *Standby {
	s := &Standby{opts: o, started: time.Now(), down: upkeep.New(o.Log)}
	s.cfg.Store(cfg)
	return s
}

// Wait stands by until this host owns. It returns the lease and the configuration that was read last.
// The error is that of ctx. All addresses are free again when it returns.
func (s *Standby) Wait(ctx context.Context) (*cluster.Lease, *config.Config, error) {
	serving, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.control(serving) })
	for _, l := range s.listeners(s.cfg.Load()) {
		running.Go(func() { _ = l.Run(serving) }) // it has no error
		defer func() { _ = l.Close() }()
	}
	lease, err := s.opts.Cluster.Wait(ctx)
	stop()
	running.Wait()
	return lease, s.cfg.Load(), err
}

// control answers the commands.
func (s *Standby) control(ctx context.Context) {
	server := operator.Server{Dir: operator.ControlDir(s.cfg.Load().Layout()), Standby: s, Health: s.health(), Log: s.opts.Log}
	f := finding.Finding{Name: finding.Listener, Part: "control socket", Remedy: "move away what is in its place"}
	s.down.Keep(ctx, f, func() error { return operator.CheckSocket(server.Dir) }, server.Run)
}

// listeners are those of the addresses at which the owner answers.
func (s *Standby) listeners(cfg *config.Config) (all []*upkeep.Listener) {
	for _, l := range cfg.Listens() {
		var answers upkeep.Server = operator.StandbyServer{Address: l.Address, Handler: http.HandlerFunc(s.refuse), Log: s.opts.Log}
		if l.Key == "metrics" {
			answers = operator.HealthServer{Address: l.Address, Hosts: cfg.Metrics.Hosts, Health: s.health()}
		}
		all = append(all, s.down.Listener(l.Key, answers))
	}
	return all
}

// Reload reads the configuration with which this host would own.
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
	s.opts.Cluster.SetConfig(next.Common())
	return answer, nil
}
