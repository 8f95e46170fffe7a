package live

import (
	"fmt"
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
	var now Current
	now.Set(&Live{Config: cfg, Registry: registry})
	if r := now.SendRate("gone"); r != (outbox.Rate{PerMinute: 20, Burst: 10}) {
		t.Errorf("the rate is %+v", r)
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
	var now Current
	for own, want := range map[string]string{", registered_by: ops": "ops", "": "dock", ", registered_by: ops, budget: {tokens: 5}": "dock"} {
		cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), fmt.Appendf(nil, text, own), env, []channel.Platform{web.Platform()})
		if err != nil {
			t.Fatal(err)
		}
		registry, err := cfg.Registry()
		if err != nil {
			t.Fatal(err)
		}
		now.Set(&Live{Config: cfg, Registry: registry})
		if got := now.ModelAccess("dock").Purse; got != want {
			t.Errorf("%q: the purse is that of %q", own, got)
		}
	}
}
