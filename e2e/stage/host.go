package stage

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
)

// ConfigIn writes a configuration file and reads it.
func ConfigIn(t *testing.T, file, text string) *config.Config {
	t.Helper()
	Write(t, file, text)
	cfg, err := config.Load(file, AllPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// StartHost runs a host until the test ends; channels nil: those of cfg.
func StartHost(t *testing.T, cfg *config.Config, channels []channel.Channel) *serve.Host {
	t.Helper()
	h, err := serve.New(t.Context(), cfg, serve.Options{Log: slog.New(slog.DiscardHandler), Channels: channels})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// StartMemory runs a whole host on an in-memory channel until the test ends.
func StartMemory(t *testing.T, yaml string, m *memory.Channel) *serve.Host {
	t.Helper()
	cfg := ConfigIn(t, filepath.Join(t.TempDir(), "longshore.yaml"), yaml)
	return StartHost(t, cfg, Substitutes(cfg, m))
}

// Echo is an assistant that answers with its prompt.
const Echo = `
state: ./state
limits: {wait: 1s}
assistants:
  echo: {agent: command, command: [cat]}
groups:
  - {name: Family, folder: family, chat: "mem:family", assistant: echo, gather: {after: 0s}}
`
