package command

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
)

// TestNoPageIsServedWithoutItsToken opens a host whose token was not found, by
// whatever way: its page would be open.
func TestNoPageIsServedWithoutItsToken(t *testing.T) {
	const text = `channels: {web: {listen: "127.0.0.1:0", token: "${CHAT_TOKEN}"}}`
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), []byte(text), func(string) string { return "" }, stage.AllPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	h, err := serve.New(context.Background(), cfg, serve.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c := channel.Current(h.Channels[0])
	if _, served := c.(*web.Web); served {
		t.Error("the page is served without its token")
	}
	if up, why := c.(channel.Status).Connected(); up || !strings.Contains(why, "the environment has no CHAT_TOKEN") {
		t.Errorf("it says %v, %s", up, why)
	}
}
