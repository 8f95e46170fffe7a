package command

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// TestWhyCountsWhatHadNoTriggerAndNamesABrokenTurn writes as a member on the page.
func TestWhyCountsWhatHadNoTriggerAndNamesABrokenTurn(t *testing.T) {
	t.Parallel()
	h := stage.NewChanging(t, `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
assistants: {broken: {agent: command, command: ["false"]}}
groups: [{folder: family, chat: "web:family", trigger: "@Andy", assistant: broken, gather: {after: 0s}}]
`)
	asked := func(wanted int, args ...string) string {
		var out bytes.Buffer
		if code := Run(context.Background(), "", stage.AllPlatforms(), append([]string{"-c", h.File}, args...), nil, &out, &out); code != wanted {
			return ""
		}
		return out.String()
	}
	h.Say("family", "hello?")
	h.Until("the count", func() bool {
		return strings.Contains(asked(terminal.ExitOK, "why", "family"), "must have @Andy; 1 message since the host's start had not")
	})
	h.Say("family", "@Andy, hello?")
	h.Until("the broken turn", func() bool {
		out := asked(terminal.ExitFailed, "why", "family")
		return strings.Contains(out, "no  assistant broken") && strings.Contains(out, "to do: tail -n 20 ")
	})
	h.Until("the turn that was given up", func() bool {
		out := asked(terminal.ExitOK, "status")
		return strings.Contains(out, "the last turn failed: ")
	})
	if out := asked(terminal.ExitOK, "errors", "list"); !strings.Contains(out, "the last turn of family broke ") || !strings.Contains(out, "why family") {
		t.Errorf("errors list says:\n%s", out)
	}
	if out := asked(terminal.ExitOK, "errors", "list", "--group", "family"); !strings.Contains(out, "the last turn of family broke ") {
		t.Errorf("errors list of the group says:\n%s", out)
	}
}

// TestWhyTriesTheKeyIfAsked at a service that refuses it, and says what else may keep files.
func TestWhyTriesTheKeyIfAsked(t *testing.T) {
	tried := make(chan string, 100)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tried <- r.Header.Get("X-Api-Key")
		if r.Header.Get("X-Api-Key") != "taken" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer service.Close()
	program(t, "claude")
	h := stage.NewChanging(t, `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
assistants:
  right: {agent: claude, env: {ANTHROPIC_API_KEY: taken, ANTHROPIC_BASE_URL: "`+service.URL+`"}}
  wrong: {agent: claude, env: {ANTHROPIC_API_KEY: gone, ANTHROPIC_BASE_URL: "`+service.URL+`"}}
groups:
- {folder: family, chat: "web:family", assistant: right, may_send: {most: 1MiB}, approve: {files: true}}
- {folder: work, chat: "web:work", assistant: wrong}
`)
	ask := func(args ...string) (string, int) {
		var out bytes.Buffer
		code := Run(context.Background(), "", stage.AllPlatforms(), append([]string{"-c", h.File}, args...), nil, &out, &out)
		return out.String(), code
	}
	if out, code := ask("why", "work"); code != terminal.ExitOK || len(tried) > 0 {
		t.Errorf("without being asked, %d tries: %d\n%s", len(tried), code, out)
	}
	if out, code := ask("why", "work", "--probe"); code != terminal.ExitFailed || !strings.Contains(out, "no  assistant wrong") || !strings.Contains(out, "Anthropic refuses its key") || strings.Contains(out, "gone") {
		t.Errorf("a wrong key: %d\n%s", code, out)
	}
	out, code := ask("why", "family", "--probe")
	if code != terminal.ExitOK || !strings.Contains(out, "Anthropic takes its key") || !strings.Contains(out, "no file above 1 MiB; some files wait for an approval") {
		t.Errorf("a key that is taken: %d\n%s", code, out)
	}
	if out, code := ask("doctor", "--probe"); code != terminal.ExitFailed || !strings.Contains(out, "assistant right: Anthropic takes its key") || !strings.Contains(out, "assistant wrong: Anthropic refuses its key") {
		t.Errorf("doctor: %d\n%s", code, out)
	}
}

// program puts an agent CLI that ends at once into the PATH.
func program(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}
