package driver_test

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// TestTheCauseOfAFailureIsRead has each CLI say what the real one was seen to say.
func TestTheCauseOfAFailureIsRead(t *testing.T) {
	said := func(words string) string { return "cat <<'EOF'\n" + words + "\nEOF\nexit 1" }
	claude := func(words string) string {
		return said(fmt.Sprintf(`{"type":"result","is_error":true,"result":%q}`, words))
	}
	codex := func(words string) string {
		return said(fmt.Sprintf(`{"type":"turn.failed","error":{"message":%q}}`, words))
	}
	gemini := func(words string) string {
		return said(fmt.Sprintf(`{"type":"result","status":"error","error":{"type":"unknown","message":%q}}`, words))
	}
	opencode := func(status int, words string) string {
		return said(fmt.Sprintf(`{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":%q,"statusCode":%d}}}`, words, status))
	}
	for _, test := range []struct {
		cli, script string
		want        cause.Cause
	}{
		{"claude", claude("Credit balance is too low"), cause.Credit},
		{"claude", claude("API Error: 402 payment required"), cause.Credit},
		{"claude", claude("Failed to authenticate. API Error: 403 not permitted"), cause.Key},
		{"claude", claude("API Error: 400 API key not valid. Please pass a valid API key."), cause.Key},
		{"claude", claude("Invalid API key · Please run /login"), cause.Key},
		{"claude", claude("API Error: 529 Overloaded"), cause.Busy},
		{"claude", claude("API Error: 500 Internal server error"), cause.Failing},
		{"claude", claude("Prompt is too long"), cause.Failed},
		{"codex", codex("exceeded retry limit, last status: 429 Too Many Requests"), cause.Busy},
		{"codex", codex("unexpected status 401 Unauthorized: Incorrect API key provided: sk-xx, url: http://127.0.0.1:1/v1/responses"), cause.Key},
		{"codex", codex("Quota exceeded. Check your plan and billing details."), cause.Credit},
		{"codex", codex("We’re currently experiencing high demand, which may cause temporary errors."), cause.Busy},
		{"codex", codex("Selected model is at capacity. Please try a different model."), cause.Busy},
		{"codex", codex("stream disconnected before completion: Transport error: network error: error decoding response body"), cause.Unreachable},
		{"gemini", gemini(`[API Error: {"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"},"type":"error"}]`), cause.Key},
		{"gemini", gemini(`[API Error: {"error":{"code":403,"message":"not permitted","status":"PERMISSION_DENIED"},"type":"error"}]`), cause.Key},
		{"gemini", gemini(`[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"},"type":"error"}]`), cause.Key},
		{"gemini", gemini("[API Error: terminated]"), cause.Unreachable},
		{"opencode", opencode(401, "Incorrect API key provided: sk-xx"), cause.Key},
		{"opencode", opencode(500, "Internal server error"), cause.Failing},
		{"opencode", opencode(0, "Connection reset by server"), cause.Unreachable},
		{"claude", "kill -9 $$", cause.Stopped},
		{"codex", "exit 0", cause.Stopped},
		{"codex", "echo 'Error: not logged in' >&2; exit 1", cause.Key},
	} {
		d, _, _ := pretend(t, test.cli, test.script)
		if _, err := d.Turn(t.Context(), agent.Turn{}); cause.Of(err) != test.want {
			t.Errorf("%s, %s: cause %q, want %q (%v)", test.cli, test.script, cause.Of(err), test.want, err)
		}
	}
}

func TestAMissingCLIIsNamed(t *testing.T) {
	d, _, _ := pretend(t, "codex", "")
	if _, err := d.Turn(t.Context(), agent.Turn{Env: []string{"PATH=/nowhere"}}); cause.Of(err) != cause.Stopped {
		t.Errorf("a program that ends at once: %v", err)
	}
	for _, a := range []agent.Agent{agent.Command{Args: []string{"/nowhere/agent"}}, agent.Command{Args: []string{"no-such-agent"}}} {
		if _, err := a.Turn(t.Context(), agent.Turn{}); cause.Of(err) != cause.NotInstalled {
			t.Errorf("got %v", err)
		}
	}
}

// A used-up quota is not waited for: the CLIs would go on for minutes.
func TestAUsedUpQuotaEndsTheTurnSoon(t *testing.T) {
	for cli, line := range map[string]string{
		"gemini":   `Attempt %d failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"Your prepayment credits are depleted.","status":"RESOURCE_EXHAUSTED"}}`,
		"opencode": `level=ERROR message="stream error" agent=build error.error="AI_APICallError: You exceeded your current quota, please check your plan. %d"`,
	} {
		d, _, _ := pretend(t, cli, fmt.Sprintf("echo '%s' >&2; echo '%s' >&2; exec sleep 600", fmt.Sprintf(line, 1), fmt.Sprintf(line, 2)))
		if _, err := d.Turn(t.Context(), agent.Turn{}); cause.Of(err) != cause.Credit {
			t.Errorf("%s: %v", cli, err)
		}
	}
}
