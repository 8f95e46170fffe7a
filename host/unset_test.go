package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// TestNoHostRunsWithoutItsSecrets opens a host whose token was not found, by
// whatever way: its page would be open.
func TestNoHostRunsWithoutItsSecrets(t *testing.T) {
	const text = `channels: {web: {listen: "127.0.0.1:0", token: "${CHAT_TOKEN}"}}`
	cfg, err := groups.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), []byte(text), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHost(context.Background(), cfg, hostOptions{log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Fatal("a host opened", h.Close())
	}
	if !strings.Contains(err.Error(), "the environment has no CHAT_TOKEN") {
		t.Errorf("it says %v", err)
	}
}
