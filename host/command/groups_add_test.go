package command

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/serve"
)

// TestAGroupIsAddedToTheRunningHostOrNotAtAll: a group that the next start would not
// accept once kept that start from happening.
func TestAGroupIsAddedToTheRunningHostOrNotAtAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	cfg := stage.ConfigIn(t, file, stage.StoresConfig)
	e := &env{Terminal: terminal.Terminal{Config: file}, getenv: os.Getenv, platforms: stage.AllPlatforms()}
	h, err := serve.New(t.Context(), cfg, serve.Options{Log: slog.New(slog.DiscardHandler), File: configFile{e}})
	if err != nil {
		t.Fatal(err)
	}
	(&stage.Site{TB: t, Cfg: cfg}).RunHost(h)
	stage.Eventually(t, "the host answers", func() bool {
		_, code := stage.Command(t, "-c", file, "reload")
		return code == terminal.ExitOK
	})
	for name, args := range map[string][]string{
		"a chat that has a group":    {"web:family", "--folder", "second"},
		"a folder that is taken":     {"web:other", "--folder", "FAMILY"},
		"no such assistant":          {"web:other", "--folder", "other", "--assistant", "nobody"},
		"a chat of no channel":       {"irc:other", "--folder", "other"},
		"a channel that is not on":   {"slack:C024BE91L", "--folder", "other"},
		"a folder that is no name":   {"web:other", "--folder", "../x"},
		"a folder of the host's own": {"web:other", "--folder", "errors"},
	} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, code := stage.Command(t, append([]string{"-c", file, "groups", "add"}, args...)...)
		if after, err := os.ReadFile(file); err != nil || code == terminal.ExitOK || string(after) != string(before) {
			t.Errorf("%s: exit code %d, file changed: %v: %s", name, code, string(after) != string(before), out)
		}
	}
	out, code := stage.Command(t, "-c", file, "groups", "add", "web:crew", "--name", "The Crew", "--assistant", "sample")
	if code != terminal.ExitOK || !strings.Contains(out, "added group") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if _, in := h.Registry().ByFolder("the-crew"); !in {
		t.Errorf("the running host has %+v: %s", h.Registry().All(), out)
	}
}
