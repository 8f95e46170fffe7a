package command

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// setupFor is a setup with answers by flags, which is not run.
func setupFor(t *testing.T, answers setupAgent) *setup {
	t.Helper()
	return &setup{
		env:   &env{Terminal: terminal.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Config: filepath.Join(t.TempDir(), "longshore.yaml"), Named: true}, getenv: os.Getenv, platforms: stage.AllPlatforms()},
		group: "Family", listen: "127.0.0.1:1", setupAgent: answers,
	}
}

// TestSetupWritesTheKeyOfOpencodesProvider: the model says whose key it is.
func TestSetupWritesTheKeyOfOpencodesProvider(t *testing.T) {
	for _, c := range []struct {
		answers    setupAgent
		key, model string
	}{
		{setupAgent{model: "anthropic/claude-one"}, "ANTHROPIC_API_KEY", "anthropic/claude-one"},
		{setupAgent{model: "openai/one"}, "OPENAI_API_KEY", "openai/one"},
		{setupAgent{model: "google/gemini-one"}, "GEMINI_API_KEY", "google/gemini-one"},
		{setupAgent{model: "one", baseURL: "http://127.0.0.1:2/v1"}, "OPENAI_API_KEY", "one"},
		{setupAgent{model: "openai/one", boxed: true}, "OPENAI_API_KEY", "one"},
	} {
		c.answers.agent, c.answers.key, c.answers.typed = "opencode", "typed-key", true
		s := setupFor(t, c.answers)
		if err := s.askOpencode(t.Context()); err != nil {
			t.Errorf("%s: %v", c.answers.model, err)
			continue
		}
		if _, err := s.write(); err != nil {
			t.Errorf("%s: %v", c.answers.model, err)
			continue
		}
		cfg, err := s.load()
		if err != nil {
			t.Fatal(err)
		}
		a := cfg.Assistants["opencode"]
		if a.Agent != "opencode" || a.Env[c.key].Reveal() != "typed-key" || a.Env["LONGSHORE_MODEL"].Reveal() != c.model || a.Env["OPENAI_BASE_URL"].Reveal() != c.answers.baseURL || cfg.Groups[0].Assistant != "opencode" {
			t.Errorf("%s: %+v", c.answers.model, a)
		}
		var out bytes.Buffer
		if code := Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", s.Config, "config", "validate"}, strings.NewReader(""), &out, &out); code != terminal.ExitOK {
			t.Errorf("%s: config validate: %d\n%s", c.answers.model, code, &out)
		}
	}
}

// TestSetupAsksForOpencodesModel, which no flag gave, in the form that it needs.
func TestSetupAsksForOpencodesModel(t *testing.T) {
	for base, want := range map[string]string{"": "PROVIDER/MODEL", "http://127.0.0.1:2/v1": "its name at the service"} {
		s := setupFor(t, setupAgent{agent: "opencode", baseURL: base})
		var out strings.Builder
		s.Prompter = terminal.Prompter{In: os.Stdin, Lines: bufio.NewReader(strings.NewReader(map[string]string{"": "anthropic/claude-one"}[base])), Out: &out}
		err := s.askOpencode(t.Context())
		asked := out.String()
		if !strings.Contains(asked, want) || (err == nil) != (base == "") {
			t.Errorf("%q: asked %q, %v", base, asked, err)
		}
	}
}

// TestSetupTriesOpencodesKey at the service, and writes nothing if it refuses.
func TestSetupTriesOpencodesKey(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer taken":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/v1/models" && r.URL.Path != "/v1/models/one":
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer service.Close()
	program(t, "opencode")
	dir := t.TempDir()
	key, wrong, file := filepath.Join(dir, "key"), filepath.Join(dir, "wrong"), filepath.Join(dir, "longshore.yaml")
	stage.Write(t, key, "taken\n")
	stage.Write(t, wrong, "gone")
	base := service.URL + "/v1"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, terminal.ExitUsage, "--model " + opencodeModel},
		{[]string{"--model", "one"}, terminal.ExitUsage, "does not say whose model it is"},
		{[]string{"--model", "anthropic/"}, terminal.ExitUsage, "does not say whose model it is"},
		{[]string{"--model", "elsewhere/one"}, terminal.ExitUsage, "choose anthropic, openai or google"},
		{[]string{"--model", "openai/one", "--base-url", base}, terminal.ExitUsage, "--model NAME --base-url " + base},
		{[]string{"--model", "anthropic/one", "--container"}, terminal.ExitUsage, "OpenAI address only"},
		{[]string{"--model", "openai/one"}, terminal.ExitUsage, "--key-file FILE"},
		{[]string{"--model", "one", "--base-url", base, "--key-file", wrong}, terminal.ExitFailed, "OpenAI refuses its key"},
		{[]string{"--model", "two", "--base-url", base, "--key-file", key}, terminal.ExitFailed, "OpenAI has no model two"},
	} {
		var out bytes.Buffer
		args := append([]string{"-c", file, "setup", "--group", "Family", "--no-service", "--agent", "opencode"}, c.args...)
		if code := Run(t.Context(), "", stage.AllPlatforms(), args, strings.NewReader(""), &out, &out); code != c.code || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "gone") {
			t.Errorf("%q: %d\n%s", c.args, code, &out)
		}
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%q wrote a configuration: %v", c.args, err)
		}
	}
}
