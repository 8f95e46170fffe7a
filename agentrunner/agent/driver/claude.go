package driver

import (
	"encoding/json"
	"fmt"

	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// claude is Claude Code. Measured with 2.1.329.
type claude struct{}

func (claude) command(s setup) (args, env []string, err error) {
	// The configuration is passed as an argument, since it holds no secret.
	if s.token {
		s.toolsEnv[mcpconfig.TokenVariable] = "${" + mcpconfig.TokenVariable + "}"
	}
	tools, err := mcpconfig.For("claude", s.tools, s.toolsEnv)
	if err != nil {
		return nil, nil, err
	}
	instructions := s.instructions
	if s.rights != Full {
		own, err := readShared(s.dir, "AGENTS.md")
		if err != nil {
			return nil, nil, fmt.Errorf("read AGENTS.md of the workspace: %w", err)
		}
		instructions += "\n" + own + "\n"
	}
	// Claude Code repeats each message, with its uuid, when it has taken the message
	// up.
	// The partial messages show that a long answer is being written.
	args = []string{"-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--replay-user-messages", "--include-partial-messages",
		"--mcp-config", tools, "--strict-mcp-config", "--allowedTools", "mcp__longshore",
		"--append-system-prompt", instructions}
	if s.model != "" {
		args = append(args, "--model", s.model)
	}
	if s.session != "" {
		args = append(args, "--resume", s.session)
	}
	_, env = s.place("CLAUDE_CONFIG_DIR", ".claude", "claude")
	_, cache := s.place("XDG_CACHE_HOME", ".cache", "cache") // for its logs
	env = append(append(env, cache...), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		// Otherwise Claude Code reads a file that a member names, as in
		// "@/etc/passwd", regardless of its rights.
		"CLAUDE_CODE_DISABLE_FILE_MENTIONS=1")
	if s.rights == Full {
		// As root, Claude Code refuses this option unless IS_SANDBOX is set.
		return append(args, "--dangerously-skip-permissions"), append(env, "IS_SANDBOX=1"), nil
	}
	// A model may have written the settings in the workspace. So no hook, helper,
	// address or permission is read from there. CLAUDE.md then comes from an
	// additional directory, and AGENTS.md is part of the instructions above.
	return append(args, "--permission-mode", "acceptEdits", "--setting-sources", "user", "--add-dir", s.dir),
		append(env, "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1"), nil
}

func (claude) prompt(text string) string { return noCommand(text) }

func (claude) message(id, text string) ([]byte, error) {
	type content struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	return json.Marshal(struct {
		Type    string  `json:"type"`
		ID      string  `json:"uuid"`
		Message content `json:"message"`
	}{"user", id, content{"user", text}})
}

func (claude) event(line []byte, a *answer) {
	var e struct {
		Type    string   `json:"type"`
		ID      string   `json:"uuid"`
		Replay  bool     `json:"isReplay"`
		Session string   `json:"session_id"`
		Result  string   `json:"result"`
		Failed  bool     `json:"is_error"`
		Subtype string   `json:"subtype"`
		Errors  []string `json:"errors"`
		Status  int      `json:"error_status"` // of a retry; 0: the model could not be reached
		Attempt int      `json:"attempt"`
		Cause   string   `json:"error"` // of a retry
		Cost    float64  `json:"total_cost_usd"`
		Message struct {
			Model   string          `json:"model"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
		Usage struct {
			Input   int64 `json:"input_tokens"`
			Read    int64 `json:"cache_read_input_tokens"`
			Created int64 `json:"cache_creation_input_tokens"`
			Output  int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if e.Type == "user" && e.Replay {
		a.taken = e.ID
	}
	if e.Type != "system" && e.Type != "result" {
		a.progress(e.Type, e.Message.Model, e.Message.Content)
		return
	}
	if e.Session != "" {
		a.session = e.Session
	}
	if e.Subtype == "api_retry" {
		a.retry(e.Status, e.Attempt, e.Cause)
	}
	if e.Type != "result" {
		return
	}
	a.done = true
	a.answers++
	a.usage = usage{input: a.usage.input + e.Usage.Input + e.Usage.Read + e.Usage.Created, cached: a.usage.cached + e.Usage.Read,
		output: a.usage.output + e.Usage.Output, cost: e.Cost, costAdds: true}
	if !e.Failed {
		a.say(fmt.Sprint("result ", a.answers), e.Result)
		return
	}
	err := clean(e.Result)
	if err == "" && len(e.Errors) > 0 {
		err = clean(e.Errors[0])
	}
	if err == "" {
		err = clean(e.Subtype)
	}
	a.fail(0, err, err)
}

// progress counts what shows that the model answers, and the tool calls under way.
// Messages of the model "<synthetic>" are Claude Code's own.
func (a *answer) progress(kind, model string, content json.RawMessage) {
	if kind != "assistant" && kind != "user" && kind != "stream_event" || model == "<synthetic>" {
		return
	}
	var blocks []struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(content, &blocks) // a member's text is no list
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			a.tools++
		case "tool_result":
			a.tools = max(0, a.tools-1)
		}
	}
	if kind != "user" || len(blocks) > 0 {
		a.steps++
	}
}

// retry records that Claude Code will ask the model again. A key that the model
// rejects is tried once more, since a login may have been renewed by then; Claude
// Code itself would try for three minutes.
func (a *answer) retry(status, attempt int, words string) {
	if status == 0 {
		trouble := fmt.Sprintf("the model cannot be reached, attempt %d", attempt)
		a.complain(0, trouble, trouble)
	} else {
		a.complain(status, fmt.Sprintf("the model answers with status %d, attempt %d", status, attempt), words)
	}
	if attempt > 1 && a.why == cause.Key {
		a.giveUp, a.err = true, fmt.Sprintf("the model rejects the key (status %d)", status)
	}
}

func (claude) complaint(string, *answer) {} // it reports its retries on stdout

func (claude) lost() string { return "No conversation found with session ID" }
