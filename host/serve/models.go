package serve

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/keys"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/host/turns"
)

// modelPort is where a CLI in a container finds its model with keys: proxy, on the container's own
// loopback.
const modelPort = "127.0.0.1:8431"

// dummyKey is what a CLI in a container sends as its key. The proxy drops it.
const dummyKey = "the-host-keeps-the-key"

// keepKeys replaces the keys and addresses in plan by those of the host's proxy.
func (m *models) keepKeys(plan turns.Plan, a config.Assistant, folder string) {
	listen, key := modelPort, dummyKey
	if a.Runtime == config.OverSSH {
		listen, key = ssh.ModelListen, m.pass(folder)
	} else {
		plan.Env["LONGSHORE_MODEL_LISTEN"] = modelPort
		plan.Env["LONGSHORE_MODEL_SOCKET"] = docker.ModelDir + "/" + docker.ModelSocket
	}
	for _, p := range keys.Known() { // also the address of a service without a key
		delete(plan.Secrets, p.Address)
	}
	for _, p := range a.Services() {
		plan.Secrets[p.Key], plan.Secrets[p.Address] = key, "http://"+listen+p.Prefix
	}
	if !a.ProviderTools.All && !slices.Contains(a.ProviderTools.Allow, "web_search") {
		plan.Env["LONGSHORE_PROVIDER_TOOLS"] = "no"
	}
}

// models owns the proxies of the groups whose assistants have been started, and the ledger of what
// their calls have used.
type models struct {
	noApply
	noRun
	host *Host

	ledger *keys.Ledger // nil only in a host that is not to run

	mu     sync.Mutex
	open   map[string]*model // by folder
	passes map[string]string // by folder: see pass
}

// model is one group's proxy.
type model struct {
	server *httpd.Running // on the socket for the group's containers; nil: not opened yet
	proxy  *keys.Proxy
}

// openModels opens the ledger: a reload may need it.
func (h *Host) openModels(ctx context.Context) (_ Part, err error) {
	h.models.ledger, err = keys.OpenLedger(ctx, h.State)
	return &h.models, err
}

// socketDir returns the directory of a group's socket for containers of an engine of this machine, and
// opens the socket if it is not open.
func (m *models) socketDir(folder string, engine *docker.Engine) (dir string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Join(m.host.Layout.State, "model", folder)
	one := m.of(folder)
	if one.server != nil {
		return dir, nil
	}
	uid, gid := engine.Owner()
	one.server, err = keys.Listen(dir, uid, gid, one.proxy)
	return dir, err
}

// of returns a group's proxy, and opens it if it is not open. The caller holds mu.
func (m *models) of(folder string) *model {
	if m.open[folder] == nil {
		m.open[folder] = &model{proxy: keys.New(folder, m.host, m.ledger, m.host.opts.Log)}
	}
	return m.open[folder]
}

// admit serves a group's proxy on the listener of one session in a container. end stops that.
func (m *models) admit(ctx context.Context, l net.Listener, folder string) (end func(), err error) {
	return m.serve(ctx, l, folder, func(p *keys.Proxy) http.Handler { return p })
}

// guarded is admit for a session over ssh, whose port other accounts reach: it asks for the pass.
func (m *models) guarded(ctx context.Context, l net.Listener, folder string) (end func(), err error) {
	pass := m.pass(folder)
	return m.serve(ctx, l, folder, func(p *keys.Proxy) http.Handler { return p.Guard(pass) })
}

func (m *models) serve(ctx context.Context, l net.Listener, folder string, as func(*keys.Proxy) http.Handler) (end func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return keys.Serve(l, as(m.of(folder).proxy)).Close, nil
}

// pass returns what a group's CLI on another machine sends as its key. It counts on the listeners of
// the group's sessions only, and while this host runs.
func (m *models) pass(folder string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passes[folder] == "" {
		m.passes[folder] = dummyKey + "-" + rand.Text()
	}
	return m.passes[folder]
}

// Close closes the proxies and the ledger.
func (m *models) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.open {
		if one.server != nil {
			one.server.Close()
		}
		one.proxy.Drain()
	}
	clear(m.open)
	if m.ledger != nil { // else it was not opened
		m.ledger.Close()
	}
	return nil
}

// Spending returns what a group's calls of its model have used; ok is false if they do not pass the
// host.
func (h *Host) Spending(ctx context.Context, folder string) (s operator.Spending, ok bool) {
	g, known := h.Registry().ByFolder(folder)
	ledger := h.models.ledger
	if ledger == nil || !known || h.Config().Assistants[g.Assistant].Keys != "proxy" {
		return s, false
	}
	used := ledger.Used(folder) // zero for a group that spends another group's budget
	s = operator.Spending{
		Calls: used.Calls, Input: used.Input, Cached: used.Cached, Written: used.Written, Output: used.Output, USD: used.Cost.USD(),
	}
	b := h.Config().Budget(g)
	if !b.Limited() {
		return s, true
	}
	stands, err := ledger.Standing(ctx, h.PurseOf(folder), b, time.Now())
	if err != nil {
		h.opts.Log.Warn("budget not read", "group", folder, "error", err)
		return s, true
	}
	s.Budget, s.Left, s.Until = b.String(), stands.Left(b), stands.Ends
	s.Over = h.overBudget(folder)
	s.SpentTokens, s.SpentUSD = stands.Spent.Tokens, stands.Spent.Cost.USD()
	return s, true
}

// spent reports whether a group's budget is used up.
func (h *Host) spent(folder string) bool {
	s, ok := h.Spending(context.Background(), folder)
	return ok && s.Budget != "" && (s.Left <= 0 || s.Over && s.Left < 1) // a whole budget has begun anew since
}

// overBudget reports whether a group's last call was refused for its budget.
func (h *Host) overBudget(folder string) bool {
	h.models.mu.Lock()
	defer h.models.mu.Unlock()
	one := h.models.open[folder]
	return one != nil && one.proxy.OverBudget()
}
