package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/keys"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// modelPort is where a CLI in a container finds the model with keys: proxy. Each
// container has a loopback of its own.
const modelPort = "127.0.0.1:8431"

// dummyKey is what the CLI sends for a key. The proxy drops it.
const dummyKey = "the-host-keeps-the-key"

// providers are the variables of each service: its key, its address, what that is
// without a setting, and the path that stands for it in the container.
var providers = []struct {
	key, address, usual, inside string
	of                          func(*keys.Settings) *keys.Upstream
}{
	{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com", "/anthropic", func(s *keys.Settings) *keys.Upstream { return &s.Anthropic }},
	{"OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1", "/openai/v1", func(s *keys.Settings) *keys.Upstream { return &s.OpenAI }},
	{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com", "/google", func(s *keys.Settings) *keys.Upstream { return &s.Google }},
}

// keepKeys takes the keys out of what an assistant is given.
func keepKeys(plan assistant.Plan, a config.Assistant) {
	for _, p := range providers {
		delete(plan.Secrets, p.address)
		if _, ok := plan.Secrets[p.key]; ok {
			plan.Secrets[p.key], plan.Secrets[p.address] = dummyKey, "http://"+modelPort+p.inside
		}
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

	mu   sync.Mutex
	open map[string]*keys.Server // by folder
}

// dir returns the directory of a group's socket, and opens that if it is not open.
func (m *models) dir(folder string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := filepath.Join(m.host.Layout.State, "model", folder)
	if m.open[folder] != nil {
		return dir, nil
	}
	uid, gid := m.host.engine.Load().Owner()
	s, err := keys.Listen(dir, uid, gid, keys.New(func() keys.Settings { return m.host.keysOf(folder) }))
	if err != nil {
		return "", err
	}
	m.open[folder] = s
	return dir, nil
}

func (m *models) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, s := range m.open {
		errs = append(errs, s.Close())
	}
	clear(m.open)
	return errors.Join(errs...)
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
	set.Tools = a.ProviderTools
	for _, p := range providers {
		address := a.Env[p.address].Reveal()
		if address == "" {
			address = p.usual
		}
		if u, err := keys.ParseURL(address); err == nil {
			*p.of(&set) = keys.Upstream{URL: u, Key: a.Env[p.key].Reveal()}
		}
	}
	return set
}

// withModel is a runtime whose assistants reach the model through the host.
type withModel struct {
	runtime.Runtime
	models *models
}

// Start implements runtime.Runtime.
func (w withModel) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	dir, err := w.models.dir(spec.Group.Folder)
	if err != nil {
		return nil, fmt.Errorf("open the way to the model: %w", err)
	}
	spec.Model = dir
	return w.Runtime.Start(ctx, spec)
}
