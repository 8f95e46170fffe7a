package command

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// A host that may not use a directory of its state did not start, and did not say what to do.
func TestAHostThatMayNotUseADirectoryDidNotStart(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	cfg := &config.Config{State: config.State{Directory: t.TempDir()}}
	l := cfg.Layout()
	for _, dir := range []string{l.IPCDir(), l.Own()} {
		stage.Must(t, l.Prepare(nil))
		stage.Must(t, os.Chmod(dir, 0))
		_, err := serve.New(t.Context(), cfg, serve.Options{Log: slog.New(slog.DiscardHandler)})
		hinted, ok := (&env{getenv: os.Getenv}).ofStart(t.Context(), cfg, err).(*terminal.Error)
		stage.Must(t, os.Chmod(dir, 0o700))
		if !ok || !strings.Contains(hinted.Hint, "chmod u+rwX "+dir) {
			t.Errorf("%s: %v, %+v", dir, err, hinted)
		}
	}
}
