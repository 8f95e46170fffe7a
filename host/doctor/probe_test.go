package doctor_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// secrets is the environment of an assistant.
func secrets(pairs ...string) map[string]setting.Secret {
	env := map[string]setting.Secret{}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = setting.NewSecret(pairs[i+1])
	}
	return env
}

// TestAKeyIsTriedAtItsService as each service documents the call.
func TestAKeyIsTriedAtItsService(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the key followed a redirect") }))
	defer elsewhere.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case key == "moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case key == "tired":
			w.WriteHeader(http.StatusServiceUnavailable)
		case key != "good" || strings.HasPrefix(r.URL.Path, "/a/") && r.Header.Get("Anthropic-Version") == "":
			w.WriteHeader(http.StatusUnauthorized)
		case !strings.Contains(" /a/v1/models /a/v1/models/claude-one /o/models /o/models/one /g/v1beta/models /g/v1beta/models/gemini-one ", " "+r.URL.Path+" "):
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/o/models": // a server that has the list only
			_, _ = io.WriteString(w, `{"data": [{"id": "one"}, {"id": "three"}]}`)
		}
	}))
	defer service.Close()
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	a, o, g := service.URL+"/a", service.URL+"/o", service.URL+"/g/"
	for _, c := range []struct {
		agent    string
		env      []string
		severity finding.Severity
		words    string
	}{
		{"claude", []string{"ANTHROPIC_API_KEY", "good", "ANTHROPIC_BASE_URL", a}, finding.Fine, "takes its key"},
		{"claude", []string{"ANTHROPIC_AUTH_TOKEN", "good", "ANTHROPIC_BASE_URL", a, "LONGSHORE_MODEL", "sonnet"}, finding.Fine, "takes its key"},
		{"claude", []string{"ANTHROPIC_API_KEY", "good", "ANTHROPIC_BASE_URL", a, "LONGSHORE_MODEL", "claude-one"}, finding.Fine, "has the model claude-one"},
		{"claude", []string{"ANTHROPIC_API_KEY", "good", "ANTHROPIC_BASE_URL", a, "LONGSHORE_MODEL", "claude-two"}, finding.Fault, "has no model claude-two"},
		{"claude", []string{"ANTHROPIC_API_KEY", "bad", "ANTHROPIC_BASE_URL", a}, finding.Fault, "refuses its key (ANTHROPIC_API_KEY, status 401)"},
		{"claude", []string{"ANTHROPIC_API_KEY", "moved", "ANTHROPIC_BASE_URL", a}, finding.Warning, "status 307"},
		{"claude", []string{"ANTHROPIC_API_KEY", "tired", "ANTHROPIC_BASE_URL", a}, finding.Warning, "status 503"},
		{"claude", []string{"ANTHROPIC_API_KEY", "good", "ANTHROPIC_BASE_URL", dead.URL}, finding.Warning, "cannot be reached"},
		{"claude", []string{"ANTHROPIC_API_KEY", ""}, finding.Note, "is not set here"},
		{"claude", nil, finding.Note, "no key that can be tried"},
		{"codex", []string{"OPENAI_API_KEY", "good", "OPENAI_BASE_URL", o, "LONGSHORE_MODEL", "one"}, finding.Fine, "has the model one"},
		{"opencode", []string{"OPENAI_API_KEY", "good", "OPENAI_BASE_URL", o, "LONGSHORE_MODEL", "openai/two"}, finding.Fault, "has no model two"},
		{"opencode", []string{"OPENAI_API_KEY", "good", "OPENAI_BASE_URL", o, "LONGSHORE_MODEL", "three"}, finding.Fine, "has the model three"},
		{"gemini", []string{"GEMINI_API_KEY", "good", "GOOGLE_GEMINI_BASE_URL", g, "LONGSHORE_MODEL", "gemini-one"}, finding.Fine, "Google takes its key"},
		{"sample", []string{"OPENAI_API_KEY", "good"}, finding.Note, "no key that can be tried"},
	} {
		got := doctor.Probe(t.Context(), "helper", config.Assistant{Agent: c.agent, Env: secrets(c.env...)})
		if got.Severity != c.severity || !strings.Contains(got.Cause, c.words) || (got.Severity == finding.Fault || got.Severity == finding.Warning) && got.Remedy == "" {
			t.Errorf("%s %q: %+v", c.agent, c.env, got)
		}
		if strings.Contains(got.Cause, "good") || strings.Contains(got.Cause, "bad") {
			t.Errorf("the key stands in %q", got.Cause)
		}
	}
}

// TestAServiceThatHangsEndsTheProbe within its bound.
func TestAServiceThatHangsEndsTheProbe(t *testing.T) {
	hung := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(hung)
		<-r.Context().Done()
	}))
	defer service.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-hung
		cancel()
	}()
	got := doctor.Probe(ctx, "helper", config.Assistant{Agent: "claude", Env: secrets("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", service.URL)})
	if got.Severity != finding.Warning || !strings.Contains(got.Cause, "no answer") {
		t.Errorf("%+v", got)
	}
}
