//go:build e2e

package engines

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// BenchmarkIdleContainers is the memory that a host process holds whose 100
// groups have assistants in containers, none of which runs, beside the same
// host with one group. Each is a process of its own, looked at when its page
// has answered and nothing has happened for a while.
func BenchmarkIdleContainers(b *testing.B) {
	const many, settle = 100, 5 * time.Second
	var ours, floor float64
	for b.Loop() {
		floor = residentMiB(b, 1, settle)
		ours = residentMiB(b, many, settle)
	}
	b.ReportMetric(ours, "MiB")
	b.ReportMetric(floor, "one-MiB")
	b.ReportMetric(ours/floor, "x-one")
	b.ReportMetric((ours-floor)*1024/(many-1), "KiB/group")
}

// residentMiB serves n groups and returns what the process holds in memory.
func residentMiB(b *testing.B, n int, settle time.Duration) float64 {
	b.Helper()
	h := newBoxes(b, n)
	cmd, log := h.serve()
	defer func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}()
	deadline := time.Now().Add(stage.Patience)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		m := stage.Member{Base: h.base, Chat: fmt.Sprintf("g%d", n-1)}
		if err := m.Call(b.Context(), "GET", m.Messages(), nil, &struct{}{}); err == nil {
			tick.Stop()
			break
		} else if time.Now().After(deadline) {
			b.Fatalf("the page does not answer: %v\n%s", err, log)
		}
	}
	<-time.After(settle)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Skip(err) // not Linux
	}
	var kb float64
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(after, &kb); err != nil {
		b.Fatal(err)
	}
	if running := h.running(); len(running) > 0 {
		b.Fatalf("containers of %q run", running)
	}
	return kb / 1024
}
