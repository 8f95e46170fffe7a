package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/host/console"
	"github.com/longshore-bridge/longshore/host/operator"
)

// consolePart serves the operator's page.
type consolePart struct {
	noApply
	*console.Console
}

func (h *Host) openConsole(context.Context) (_ Part, err error) {
	o := h.Config().OperatorPage
	if o.Listen == "" {
		return nil, nil
	}
	if h.console, err = console.Open(console.Options{Listen: o.Listen, Hosts: o.Hosts, Control: h.local, Log: h.opts.Log}); err != nil {
		return nil, err
	}
	h.local.Running.Page = h.console
	return consolePart{Console: h.console}, nil
}

// SignIn returns an address that signs one browser in to the operator's page, once; empty if there is
// no page.
func (h *Host) SignIn() string {
	if h.console == nil {
		return ""
	}
	return h.console.SignIn()
}

// controlPart answers the commands on the control socket.
type controlPart struct {
	noApply
	noClose
	operator.Server
}

func (h *Host) openControl(context.Context) (Part, error) {
	return &controlPart{Server: operator.Server{Dir: operator.ControlDir(h.Layout), Control: h.local, Health: h.local.Health(), Log: h.opts.Log}}, nil
}

// metricsPart serves /healthz, /readyz and /metrics at metrics.listen.
type metricsPart struct {
	noApply
	noClose
	h *Host
}

func (h *Host) openMetrics(context.Context) (Part, error) {
	if h.Config().Metrics.Listen == "" {
		return nil, nil
	}
	return metricsPart{h: h}, nil
}

func (p metricsPart) Run(ctx context.Context) error {
	m := p.h.Config().Metrics
	return operator.ServeHealth(ctx, m.Listen, m.Hosts, p.h.local.Health())
}
