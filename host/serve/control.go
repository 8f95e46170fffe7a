package serve

import (
	"context"
	"errors"
	"net"

	"github.com/longshore-bridge/longshore/host/console"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// consolePart serves the operator's page. The host runs on if it cannot.
type consolePart struct {
	noApply
	h *Host
}

func (h *Host) openConsole(context.Context) (Part, error) {
	if h.Config().OperatorPage.Listen == "" {
		return nil, nil
	}
	h.local.Running.Page = h
	p := consolePart{h: h}
	h.down.Tell(upkeep.Listener("operator_page"), p.open())
	return p, nil
}

func (p consolePart) open() error {
	if p.h.console.Load() != nil {
		return nil
	}
	o := p.h.Config().OperatorPage
	c, err := console.Open(console.Options{Listen: o.Listen, Hosts: o.Hosts, Control: p.h.local, Log: p.h.opts.Log})
	if err == nil {
		p.h.console.Store(c)
	}
	return err
}

func (p consolePart) Run(ctx context.Context) error {
	p.h.down.Keep(ctx, upkeep.Listener("operator_page"), p.open, func(ctx context.Context) error {
		err := p.h.console.Load().Run(ctx)
		return errors.Join(err, p.Close())
	})
	return nil
}

func (p consolePart) Close() error {
	if c := p.h.console.Swap(nil); c != nil {
		return c.Close()
	}
	return nil
}

// SignIn returns an address that signs one browser in to the operator's page, once; empty if there is
// no page, or it is down.
func (h *Host) SignIn() string {
	if c := h.console.Load(); c != nil {
		return c.SignIn()
	}
	return ""
}

// controlPart answers the commands on the control socket.
type controlPart struct {
	noApply
	noClose
	operator.Server
	h *Host
}

func (h *Host) openControl(context.Context) (Part, error) {
	return &controlPart{Server: operator.Server{Dir: operator.ControlDir(h.Layout), Control: h.local, Health: h.local.Health(), Log: h.opts.Log}, h: h}, nil
}

// Run serves the commands. The host runs on while something else is in the place of its socket.
func (p *controlPart) Run(ctx context.Context) error {
	f := finding.Finding{Name: finding.Listener, Part: "control socket", Remedy: "move away what is in its place"}
	p.h.down.Keep(ctx, f, func() error { return operator.CheckSocket(p.Dir) }, p.Server.Run)
	return nil
}

// metricsPart serves /healthz and /metrics at metrics.listen. The host runs on if it cannot.
type metricsPart struct {
	noApply
	h        *Host
	listener net.Listener // nil while it is down; of New, then of Run
}

func (h *Host) openMetrics(context.Context) (Part, error) {
	if h.Config().Metrics.Listen == "" {
		return nil, nil
	}
	p := &metricsPart{h: h}
	h.down.Tell(upkeep.Listener("metrics"), p.open())
	return p, nil
}

func (p *metricsPart) open() (err error) {
	if p.listener == nil {
		p.listener, err = net.Listen("tcp", p.h.Config().Metrics.Listen)
	}
	return err
}

func (p *metricsPart) Run(ctx context.Context) error {
	p.h.down.Keep(ctx, upkeep.Listener("metrics"), p.open, func(ctx context.Context) error {
		err := operator.ServeHealth(ctx, p.listener, p.h.Config().Metrics.Hosts, p.h.local.Health())
		return errors.Join(err, p.Close())
	})
	return nil
}

func (p *metricsPart) Close() error {
	if p.listener == nil {
		return nil
	}
	_ = p.listener.Close() // Run may have closed it
	p.listener = nil
	return nil
}
