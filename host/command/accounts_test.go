package command

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
)

// TestTwoAccountsOfOnePlatform: two pages on two ports, each with its own
// chats and its own store.
func TestTwoAccountsOfOnePlatform(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := `limits: {free_disk: 0}
channels:
  web: {listen: "127.0.0.1:0"}
  web-team: {type: web, listen: "127.0.0.1:0"}
groups:
- {folder: family, chat: "web:family", channel: web, main: true}
- {folder: team, chat: "web:team", channel: web-team}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, allPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	h, err := serve.New(t.Context(), cfg, serve.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	desk := h.Desk(true)
	for i, want := range []struct{ name, chat, dir string }{{"web", "family", "web"}, {"web-team", "team", "channels/web-team"}} {
		if got := h.Channels[i].Name(); got != want.name {
			t.Errorf("channel %d is %s", i, got)
		}
		if _, err := os.Stat(filepath.Join(cfg.State, want.dir, "web.db")); err != nil {
			t.Error(err)
		}
		item, err := desk.Send(t.Context(), operator.Send{Group: want.chat, Path: file})
		if err != nil {
			t.Fatal(err)
		}
		if item.Channel != want.name {
			t.Errorf("the delivery to %s goes to %q", want.chat, item.Channel)
		}
		base := strings.TrimRight(h.Channels[i].(*web.Web).URL(), "/")
		other := strings.TrimRight(h.Channels[1-i].(*web.Web).URL(), "/")
		if code := status(t, base+"/c/"+want.chat); code != http.StatusOK {
			t.Errorf("the page %s answers %d", want.chat, code)
		}
		if code := status(t, other+"/c/"+want.chat); code != http.StatusNotFound {
			t.Errorf("the page %s shows %s: %d", other, want.chat, code)
		}
	}
	groups, err := desk.Status(t.Context())
	if err != nil || groups.Groups[0].Channel != "web" || groups.Groups[1].Channel != "web-team" {
		t.Errorf("%+v, %v", groups.Groups, err)
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestPairAsksWhichAccount: with several, none is guessed.
func TestPairAsksWhichAccount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := "channels: {whatsapp: , office: {type: whatsapp}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"pair", "unpair"} {
		var b bytes.Buffer
		code := run(t.Context(), "", allPlatforms(), []string{"-c", file, command, "whatsapp"}, strings.NewReader(""), &b, &b)
		if code != exitUsage || !strings.Contains(b.String(), "name one of them: whatsapp, office") {
			t.Errorf("%s: %d, %s", command, code, b.String())
		}
	}
}
