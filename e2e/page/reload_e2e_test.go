//go:build e2e

package page

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestReloadsUnderLoadLoseAndDoubleNothing reloads again and again while three
// groups send, and a fourth comes and goes.
func TestReloadsUnderLoadLoseAndDoubleNothing(t *testing.T) {
	const reloads, each = 100, 60
	form := func(pending int, more string) string {
		return fmt.Sprintf("channels: {web: {listen: \"%%LISTEN%%\"}}\nlimits: {free_disk: 1MB, pending: %d, rate: {per_minute: 600000, burst: 1000}}\ngroups:\n"+
			"  - {folder: g0, chat: \"web:g0\"}\n  - {folder: g1, chat: \"web:g1\"}\n  - {folder: g2, chat: \"web:g2\"}\n%s", pending, more)
	}
	h := stage.NewChanging(t, form(64, ""))
	var sending sync.WaitGroup
	for g := range 3 {
		sending.Go(func() {
			client := ipc.NewClient(h.Layout.IPC(fmt.Sprintf("g%d", g), ""))
			for i := range each {
				if _, err := client.Enqueue(context.Background(), ipc.Request{Type: ipc.TypeMessage, Text: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range reloads {
		more := ""
		if i%2 == 0 {
			more = "  - {folder: now-and-then, chat: \"web:now-and-then\"}\n"
		}
		h.Reload(form(8+i%7, more))
	}
	sending.Wait()
	var want []string
	for i := range each {
		want = append(want, fmt.Sprint(i))
	}
	for g := range 3 {
		hears(h, fmt.Sprintf("g%d", g), want...)
	}
}
