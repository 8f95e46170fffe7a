package serve

import (
	"context"
	"os"

	"github.com/longshore-bridge/longshore/host/console"
	"github.com/longshore-bridge/longshore/host/notify"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// consolePart serves the operator's page.
type consolePart struct {
	noApply
	*upkeep.Listener
}

func (h *Host) openConsole(context.Context) (Part, error) {
	o := h.Config().OperatorPage
	if o.Listen == "" {
		return nil, nil
	}
	h.console = console.New(console.Options{Listen: o.Listen, Hosts: o.Hosts, Control: h.local, Log: h.opts.Log})
	h.local.Running.Page = h.console
	return consolePart{Listener: h.down.Listener("operator_page", h.console)}, nil
}

// SignIn returns an address that signs one browser in to the operator's page, once; empty if there is
// no page, or it is down.
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
	h *Host
}

func (h *Host) openControl(context.Context) (Part, error) {
	return &controlPart{Server: operator.Server{Dir: operator.ControlDir(h.Layout), Control: h.local, Health: h.local.Health(), Log: h.opts.Log}, h: h}, nil
}

// Run serves the commands. The host runs on while something else is in the place of its socket.
func (p *controlPart) Run(ctx context.Context) error {
	f := finding.Finding{Name: finding.Listener, Part: finding.ControlSocket, Remedy: "move away what is in its place"}
	p.h.down.Keep(ctx, f, func() error { return operator.CheckSocket(p.Dir) }, p.Server.Run)
	return nil
}

// metricsPart serves /healthz, /readyz and /metrics at metrics.listen.
type metricsPart struct {
	noApply
	*upkeep.Listener
}

func (h *Host) openMetrics(context.Context) (Part, error) {
	m := h.Config().Metrics
	if m.Listen == "" {
		return nil, nil
	}
	return metricsPart{Listener: h.down.Listener("metrics", operator.HealthServer{Address: m.Listen, Hosts: m.Hosts, Health: h.local.Health()})}, nil
}

// notifierPart tells the operator of lasting faults.
type notifierPart struct {
	noApply
	noClose
	*notify.Notifier
}

func (h *Host) openNotifier(context.Context) (Part, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	h.notifier = notify.New(notify.Options{
		State: h.State, Host: name, Log: h.opts.Log,
		Watched: h.local, Settings: notify.Configured{Now: h, Chats: h.Bridge},
	})
	h.local.Running.Notifier = h.notifier
	return notifierPart{Notifier: h.notifier}, nil
}

func (p notifierPart) Run(ctx context.Context) error { p.Notifier.Run(ctx); return nil }
