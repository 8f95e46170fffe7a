package command

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
			h := harbourWith(b, "{rate: {per_minute: 60000, burst: 10000}, account: {per_minute: 60000, burst: 10000}}", "rate: {per_minute: 60000, burst: 10000}")
			h.link()
			host := h.serve()
			friend := h.srv.NewMember(b, "4915550000002", "Ben")
			h.srv.AddMember(h.group, "4915550000002")
			call := h.tool()
			content := make([]byte, size)
			rand.Read(content)
			path := filepath.Join(h.dir, "state/groups/crew/file.bin")
			if err := os.WriteFile(path, content, 0o644); err != nil {
				b.Fatal(err)
			}
			h.carry(b, "warm caches", func() error { return call(path) })
			h.carry(b, "warm caches", func() error { return h.friendSends(friend, path) })

			var ours, floor time.Duration
			for b.Loop() {
				ours += h.carry(b, "our host", func() error { return call(path) })
				floor += h.carry(b, "the library alone", func() error { return h.friendSends(friend, path) })
			}
			b.ReportMetric(float64(ours.Microseconds())/1000/float64(b.N), "ms")
			b.ReportMetric(float64(floor.Microseconds())/1000/float64(b.N), "floor-ms")
			b.ReportMetric(float64(ours)/float64(floor), "x-floor")
			b.ReportMetric(0, "ns/op")
			host.stop()
		})
	}
}

// tool is send_file without its MCP clothes.
func (h *harbour) tool() func(path string) error {
	h.t.Helper()
	mounts := fmt.Sprintf(`[{"path":"/workspace/group","local":%q,"readOnly":false}]`, filepath.Join(h.dir, "state/groups/crew"))
	env := map[string]string{"LONGSHORE_IPC": filepath.Join(h.dir, "state/ipc/crew"), "LONGSHORE_MOUNTS": mounts}
	config, err := sender.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		h.t.Fatal(err)
	}
	s := sender.New(config)
	return func(path string) error {
		_, err := s.SendFiles(context.Background(), []sender.File{{Path: path}}, sender.Options{})
		return err
	}
}

func (h *harbour) friendSends(friend *whatsapptest.Member, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = friend.SendFile(h.t.Context(), h.group, whatsapptest.File{Kind: "document", Name: "file.bin", MIME: "application/octet-stream", Body: f})
	return err
}

// carry has one file sent and returns the time until Anna holds it.
func (h *harbour) carry(b *testing.B, who string, send func() error) time.Duration {
	b.Helper()
	begin := time.Now()
	sent := make(chan error, 1)
	go func() { sent <- send() }()
	m, err := h.anna.Next(b.Context())
	if err == nil {
		_, err = h.anna.Fetch(b.Context(), m.Message)
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
