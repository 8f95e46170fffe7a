package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/keys"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/store"
)

// modelPort is where a CLI in a container finds the model with keys: proxy. Each
// container has a loopback of its own.
const modelPort = "127.0.0.1:8431"

// dummyKey is what the CLI sends for a key. The proxy drops it.
const dummyKey = "the-host-keeps-the-key"

// keepKeys takes the keys out of what an assistant is given.
func keepKeys(plan assistant.Plan, a config.Assistant) {
	for _, p := range keys.Known() { // of a service without a key, the address stays at home too
		delete(plan.Secrets, p.Address)
	}
	for _, p := range a.Services() {
		plan.Secrets[p.Key], plan.Secrets[p.Address] = dummyKey, "http://"+modelPort+p.Prefix
	}
	plan.Env["LONGSHORE_MODEL_LISTEN"] = modelPort
	plan.Env["LONGSHORE_MODEL_SOCKET"] = docker.ModelDir + "/" + keys.Socket
	if !a.ProviderTools {
		plan.Env["LONGSHORE_PROVIDER_TOOLS"] = "no"
	}
}

// models are the proxies of the groups whose assistants have been started.
type models struct {
	host *Host

	mu     sync.Mutex
	ledger *keys.Ledger      // nil: not opened yet
	open   map[string]*model // by folder
}

// model is one group's proxy, on its socket.
type model struct {
	server *keys.Server
	proxy  *keys.Proxy
}

// UsageOf is the store of what calls of models have used.
func UsageOf(c *config.Config) store.Spec {
	return keys.Store(c.Layout().Channel("usage"), HomeOf(c))
}

// openLedger opens the ledger if it is not open. The caller holds mu.
func (m *models) openLedger(ctx context.Context) (err error) {
	if m.ledger == nil {
		m.ledger, err = keys.OpenLedger(ctx, UsageOf(m.host.Config()))
	}
	return err
}

// prepare opens the ledger if the configuration needs it.
func (m *models) prepare(ctx context.Context, c *config.Config) error {
	if !c.KeepsKeys() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.openLedger(ctx)
}

// dir returns the directory of a group's socket, and opens that if it is not open.
func (m *models) dir(ctx context.Context, folder string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := filepath.Join(m.host.Layout.State, "model", folder)
	if m.open[folder] != nil {
		return dir, nil
	}
	if err := m.openLedger(ctx); err != nil {
		return "", err
	}
	uid, gid := m.host.engine.Load().Owner()
	p := keys.New(folder, func() keys.Settings { return m.host.keysOf(folder) }, m.ledger, m.host.opts.Log)
	s, err := keys.Listen(dir, uid, gid, p)
	if err != nil {
		return "", err
	}
	m.open[folder] = &model{s, p}
	return dir, nil
}

func (m *models) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, one := range m.open {
		errs = append(errs, one.server.Close())
		one.proxy.Drain()
	}
	clear(m.open)
	if m.ledger != nil {
		errs = append(errs, m.ledger.Close())
		m.ledger = nil
	}
	return errors.Join(errs...)
}

// books is the ledger; nil if no assistant has needed it.
func (m *models) books() *keys.Ledger {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger
}

// keysOf is what a group's assistant may use now. A group that is gone, or whose
// keys are inside now, has nothing here.
func (h *Host) keysOf(folder string) (set keys.Settings) {
	now := h.now()
	g, ok := now.registry.ByFolder(folder)
	a := now.config.Assistants[g.Assistant]
	if !ok || a.Keys != "proxy" {
		return set
	}
	set.Tools, set.Own, set.Prices, set.Budget = a.ProviderTools, a.OwnKey, now.config.ModelPrices(), now.config.Budget(g)
	for _, p := range a.Services() {
		address := a.Env[p.Address].Reveal()
		if address == "" {
			address = p.Usual
		}
		if u, err := keys.ParseURL(address); err == nil && !a.Env[p.Key].IsZero() {
			set.Upstreams = append(set.Upstreams, keys.Upstream{Provider: p, URL: u, Secret: a.Env[p.Key].Reveal()})
		}
	}
	return set
}

// spending is what a group's calls of its model have used; ok is false if the host does
// not pass them on.
func (h *Host) spending(ctx context.Context, folder string) (s operator.Spending, ok bool) {
	g, known := h.Registry().ByFolder(folder)
	ledger := h.models.books()
	if ledger == nil || !known || h.Config().Assistants[g.Assistant].Keys != "proxy" {
		return s, false
	}
	used := ledger.Used(folder)
	s = operator.Spending{
		Calls: used.Calls, Input: used.Input, Cached: used.Cached, Written: used.Written, Output: used.Output, USD: used.Cost.USD(),
	}
	b := h.Config().Budget(g)
	if !b.Limited() {
		return s, true
	}
	stands, err := ledger.Standing(ctx, folder, b, time.Now())
	if err != nil {
		h.opts.Log.Warn("budget not read", "group", folder, "error", err)
		return s, true
	}
	s.Budget, s.Left, s.Until = b.String(), stands.Left(b), stands.Ends
	s.Over = h.overBudget(folder)
	s.SpentTokens, s.SpentUSD = stands.Spent.Tokens, stands.Spent.Cost.USD()
	return s, true
}

// overBudget reports whether a group's last call was refused for its budget.
func (h *Host) overBudget(folder string) bool {
	h.models.mu.Lock()
	defer h.models.mu.Unlock()
	one := h.models.open[folder]
	return one != nil && one.proxy.OverBudget()
}

// withModel is a runtime whose assistants reach the model through the host.
type withModel struct {
	runtime.Runtime
	models *models
}

// Start implements runtime.Runtime.
func (w withModel) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	dir, err := w.models.dir(ctx, spec.Group.Folder)
	if err != nil {
		return nil, fmt.Errorf("open the way to the model: %w", err)
	}
	spec.Model = dir
	return w.Runtime.Start(ctx, spec)
}
