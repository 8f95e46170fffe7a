//go:build e2e

package whatsapp

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/media"
)

// BenchmarkCallToMember is the whole road: from the call of the tool's own code
// in the group's workspace, through a host process, to the member's client
// with the file downloaded and decrypted. The floor is the same file sent by a
// whatsmeow client by itself, to the same member over the same server.
func BenchmarkCallToMember(b *testing.B) {
	for _, size := range []int{1 << 10, media.MiB, 100 * media.MiB} {
		b.Run(strings.ReplaceAll(media.Size(int64(size)), " ", ""), func(b *testing.B) {
			h := stage.HarbourWith(b, "{rate: {per_minute: 60000, burst: 10000}, account: {per_minute: 60000, burst: 10000}}", "rate: {per_minute: 60000, burst: 10000}")
			h.Link()
			host := h.Serve()
			friend := h.Srv.NewMember(b, "4915550000002", "Ben")
			h.Srv.AddMember(h.Group, "4915550000002")
			call := tool(h)
			content := make([]byte, size)
			rand.Read(content)
			path := filepath.Join(h.Dir, "state/groups/crew/file.bin")
			if err := os.WriteFile(path, content, 0o644); err != nil {
				b.Fatal(err)
			}
			carry(h, b, "warm caches", func() error { return call(path) })
			carry(h, b, "warm caches", func() error { return friendSends(h, friend, path) })

			var ours, floor time.Duration
			for b.Loop() {
				ours += carry(h, b, "our host", func() error { return call(path) })
				floor += carry(h, b, "the library alone", func() error { return friendSends(h, friend, path) })
			}
			b.ReportMetric(float64(ours.Microseconds())/1000/float64(b.N), "ms")
			b.ReportMetric(float64(floor.Microseconds())/1000/float64(b.N), "floor-ms")
			b.ReportMetric(float64(ours)/float64(floor), "x-floor")
			b.ReportMetric(0, "ns/op")
			host.Stop()
		})
	}
}

// tool is send_file without its MCP clothes.
func tool(h *stage.Harbour) func(path string) error {
	h.T.Helper()
	mounts := fmt.Sprintf(`[{"path":"/workspace/group","local":%q,"readOnly":false}]`, filepath.Join(h.Dir, "state/groups/crew"))
	env := map[string]string{"LONGSHORE_IPC": filepath.Join(h.Dir, "state/ipc/crew"), "LONGSHORE_MOUNTS": mounts}
	config, err := sender.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		h.T.Fatal(err)
	}
	s := sender.New(config)
	return func(path string) error {
		_, err := s.SendFiles(context.Background(), []sender.File{{Path: path}}, sender.Options{})
		return err
	}
}

func friendSends(h *stage.Harbour, friend *whatsapptest.Member, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = friend.SendFile(h.T.Context(), h.Group, whatsapptest.File{Kind: "document", Name: "file.bin", MIME: "application/octet-stream", Body: f})
	return err
}

// carry has one file sent and returns the time until Anna holds it.
func carry(h *stage.Harbour, b *testing.B, who string, send func() error) time.Duration {
	b.Helper()
	begin := time.Now()
	sent := make(chan error, 1)
	go func() { sent <- send() }()
	m, err := h.Anna.Next(b.Context())
	if err == nil {
		_, err = h.Anna.Fetch(b.Context(), m.Message)
	}
	took := time.Since(begin)
	if err != nil {
		b.Fatalf("%s: %v", who, err)
	}
	if err := <-sent; err != nil {
		b.Fatalf("%s: %v", who, err)
	}
	return took
}
