package driver

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/internal/toolcheck"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// watched is a watch of a CLI, and what it has reported.
func watched(c cli) (w *watch, causes *[]cause.Cause) {
	causes = &[]cause.Cause{}
	turn := agent.Turn{Env: []string{"LONGSHORE_NOTICE_AFTER=1m"}, Trouble: func(r agent.Trouble) { *causes = append(*causes, r.Cause) }}
	d := &Driver{cli: c, o: Options{Log: slog.New(slog.DiscardHandler)}}
	return newWatch(d, turn, newTalk(c, turn, func() {}), toolcheck.Check{Dir: "/nowhere"}, func() {}), causes
}

func reports(t *testing.T, causes *[]cause.Cause, want ...cause.Cause) {
	t.Helper()
	if diff := cmp.Diff(append([]cause.Cause{}, want...), *causes); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// TestTroubleAndItsEndAreReported has each CLI retry, in its own way, and answer.
func TestTroubleAndItsEndAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		cli                    cli
		stdout, stderr, answer string
		want                   cause.Cause
	}{
		"claude": {claude{}, `{"type":"system","subtype":"api_retry","attempt":1,"error_status":429,"error":"rate_limit"}`, "",
			`{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"Hi"}]}}`, cause.Busy},
		"claude, cut off": {claude{}, `{"type":"system","subtype":"api_retry","attempt":1,"error_status":null,"error":"unknown"}`, "",
			`{"type":"stream_event","event":{"type":"message_start"}}`, cause.Unreachable},
		"codex": {codex{}, `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 529 <unknown status code>: Overloaded, url: http://127.0.0.1:1/v1/responses)"}`, "",
			`{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Hi"}}`, cause.Busy},
		"gemini": {gemini{}, "", `Attempt 1 failed with status 500. Retrying with backoff... _ApiError: {"error":{"code":500,"message":"Internal server error","status":"INTERNAL"},"type":"error"}`,
			`{"type":"message","role":"assistant","content":"Hi"}`, cause.Failing},
		"opencode": {opencode{}, "", `timestamp=2026-11-22T22:52:19.641Z level=ERROR message="stream error" agent=build error.error="AI_APICallError: Rate limit reached, slow down"`,
			`{"type":"text","part":{"messageID":"1","text":"Hi"}}`, cause.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			w, causes := watched(test.cli)
			w.complaint("a line that means nothing")
			w.complaint(`level=ERROR message="stream error" agent=title error.error="AI_APICallError: no title"`)
			w.event([]byte(test.stdout))
			w.complaint(test.stderr)
			reports(t, causes, test.want)
			w.event([]byte(test.answer))
			reports(t, causes, test.want, "")
			w.stop()
		})
	}
}

func TestASilentModelIsReportedAndAToolAtWorkIsNot(t *testing.T) {
	for name, test := range map[string]struct {
		cli         cli
		start, ends string
	}{
		"claude": {claude{}, `{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use"},{"type":"tool_use"}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result"},{"type":"tool_result"}]}}`},
		"codex":  {codex{}, `{"type":"item.started","item":{"id":"1","type":"command_execution"}}`, `{"type":"item.completed","item":{"id":"1","type":"command_execution"}}`},
		"gemini": {gemini{}, `{"type":"tool_use"}`, `{"type":"tool_result"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, causes := watched(test.cli)
				time.Sleep(29 * time.Second)
				w.event([]byte(test.start))
				time.Sleep(time.Hour)
				reports(t, causes)
				w.event([]byte(test.ends))
				time.Sleep(31 * time.Second)
				synctest.Wait()
				reports(t, causes, cause.Silent)
				w.stop()
			})
		})
	}
}

// A model that writes a long answer shows that it lives.
func TestClaudesPartialMessagesAreSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, causes := watched(claude{})
		for range 20 {
			time.Sleep(29 * time.Second)
			w.event([]byte(`{"type":"stream_event","event":{"type":"content_block_delta"}}`))
		}
		reports(t, causes)
		w.stop()
	})
}
