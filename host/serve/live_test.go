package serve

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// What a removed group had left in the outbox went out as fast as it could.
func TestTheRestOfARemovedGroupKeepsARate(t *testing.T) {
	registry, err := groups.NewRegistry(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{}
	cfg.Limits.Rate = groups.Rate{PerMinute: 20, Burst: 10}
	var h Host
	h.live.Store(&live{config: cfg, registry: registry})
	if r := h.rate("gone"); r != (outbox.Rate{PerMinute: 20, Burst: 10}) {
		t.Errorf("the rate is %+v", r)
	}
}

// setupsOf notes with what its channels are made.
type setupsOf struct {
	channel.Platform
	setups []channel.Setup
}

func (*setupsOf) Key() string { return "noted" }

func (p *setupsOf) New(s channel.Setup) (channel.Channel, error) {
	p.setups = append(p.setups, s)
	return offline{}, nil
}

// Each channel counted its temporary bytes for itself, so that together they took
// what was to stay free.
func TestAllChannelsShareOneCountOfTemporaryBytes(t *testing.T) {
	platform := &setupsOf{}
	cfg := &config.Config{State: t.TempDir(), Channels: config.Channels{{Name: "one", Platform: platform}, {Name: "two", Platform: platform}}}
	h, err := New(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Idle: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	release, err := platform.setups[0].Host.Reserve(5000)
	if err != nil {
		t.Fatal(err)
	}
	if h.opts.disk.reserved != 5000 {
		t.Errorf("the host counts %d", h.opts.disk.reserved)
	}
	if _, err := platform.setups[1].Host.Reserve(1); err != nil || h.opts.disk.reserved != 5001 {
		t.Errorf("with the second channel the host counts %d: %v", h.opts.disk.reserved, err)
	}
	release()
	if h.opts.disk.reserved != 1 {
		t.Errorf("in the end the host counts %d", h.opts.disk.reserved)
	}
}

// A group that was registered kept the purse of before a reload, with the budget of after it.
func TestThePurseChangesWithTheBudget(t *testing.T) {
	const text = `
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {a: {runtime: docker, keys: proxy, agent: claude, env: {ANTHROPIC_API_KEY: '${KEY}'}}}
groups:
- {folder: ops, chat: "web:ops", main: true, assistant: a, budget: {tokens: 10}}
- {folder: dock, chat: "web:dock", assistant: a%s}
`
	env := func(name string) string { return map[string]string{"KEY": "a-key-of-16-and-more"}[name] }
	var h Host
	for own, want := range map[string]string{", registered_by: ops": "ops", "": "dock", ", registered_by: ops, budget: {tokens: 5}": "dock"} {
		cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), fmt.Appendf(nil, text, own), env, []channel.Platform{web.Platform()})
		if err != nil {
			t.Fatal(err)
		}
		registry, err := cfg.Registry()
		if err != nil {
			t.Fatal(err)
		}
		h.live.Store(&live{config: cfg, registry: registry})
		if got := h.keysOf("dock").Purse; got != want {
			t.Errorf("%q: the purse is that of %q", own, got)
		}
	}
}
