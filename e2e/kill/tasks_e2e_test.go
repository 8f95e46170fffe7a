//go:build e2e

package kill

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestAKilledHostRunsATaskOnce kills a host after it has claimed a due time, and the
// next one after the assistant has it. The member gets one answer.
func TestAKilledHostRunsATaskOnce(t *testing.T) {
	s := newCrashSite(t, true)
	text := strings.ReplaceAll("state: ./state\nassistants:\n  echo: {agent: command, command: [cat]}\ngroups:\n  - {name: G0, folder: g0, chat: \"mem:g0\", assistant: echo, gather: {after: 0s}}\n", "\t", "")
	if err := os.WriteFile(s.config(), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(s.config(), stage.AllPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := groups.NewRegistry(cfg.Groups)
	if err != nil {
		t.Fatal(err)
	}
	schedule(t, cfg, registry)
	for _, step := range []string{"task claimed", "task begun"} {
		cmd := s.host(killable{Step: step, Nth: 1})
		if err := cmd.Wait(); err == nil {
			t.Fatalf("the host was to die at %q", step)
		}
	}
	cmd := s.host(killable{})
	stage.Await(t, "the answer", func() bool { return len(s.platform.all()) > 0 })
	stage.Await(t, "the end of the run", func() bool {
		all, err := operator.NewClient(operator.ControlDir(cfg.Layout())).Tasks(t.Context(), "")
		return err == nil && len(all) == 1 && !all[0].Running
	})
	cmd.Process.Signal(os.Interrupt)
	cmd.Process.Kill()
	cmd.Wait()
	if shown := s.platform.all(); len(shown) != 1 {
		t.Errorf("the chat shows %d answers", len(shown))
	}
}

// host has groups in one time zone.
type host struct {
	registry *groups.Registry
	zone     *time.Location
}

func (h host) Registry() *groups.Registry { return h.registry }
func (h host) Zone(string) *time.Location { return h.zone }
func (h host) Spent(string) bool          { return false }
func (h host) TasksChanged(string)        {}

// schedule leaves a task that is due now.
func schedule(t *testing.T, cfg *config.Config, registry *groups.Registry) {
	t.Helper()
	db, err := state.Open(t.Context(), serve.StateOf(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ts := tasks.New(tasks.Options{
		State: db, Host: host{registry, cfg.Zone(groups.Group{})},
		Now: func() time.Time { return time.Now().Add(-time.Hour) },
	})
	due := time.Now().Add(-time.Minute).Format(time.RFC3339)
	_, err = ts.Answer(t.Context(), tasks.Call{Key: "k", From: registry.Asker("g0", ""), Request: ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "water the plants", ScheduleType: "once", ScheduleValue: due}})
	if err != nil {
		t.Fatal(err)
	}
}

// all is what members see.
func (p *platform) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.shown...)
}
