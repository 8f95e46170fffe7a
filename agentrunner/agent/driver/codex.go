package driver

import (
	"encoding/json"
	"os"
	"strconv"

	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
)

// codex is OpenAI's codex. Measured with 0.169.0.
type codex struct{}

func (codex) command(s setup) (args, env []string, err error) {
	var passed []string
	if s.token {
		passed = []string{mcpconfig.TokenVariable}
	}
	tools, err := mcpconfig.CodexOverride(s.tools, s.toolsEnv, passed)
	if err != nil {
		return nil, nil, err
	}
	sandbox := "workspace-write"
	if s.rights == Full {
		sandbox = "danger-full-access"
	}
	args = []string{"exec", "--json", "--skip-git-repo-check"}
	set := func(key, value string) { args = append(args, "-c", key+"="+value) }
	set("sandbox_mode", strconv.Quote(sandbox))
	set("approval_policy", `"never"`)
	set("check_for_update_on_startup", "false")
	// Both would connect to addresses that a container may not reach, and wait.
	set("analytics.enabled", "false")
	set("features.plugins", "false")
	if s.getenv("LONGSHORE_PROVIDER_TOOLS") == "no" {
		set("web_search", `"disabled"`) // offered, the host would refuse every call
	}
	set("developer_instructions", tomlString(s.instructions))
	set("project_doc_fallback_filenames", `["CLAUDE.md"]`)
	args = append(args, "-c", tools)
	if url := s.getenv("OPENAI_BASE_URL"); url != "" {
		// The built-in provider accepts no other address.
		set("model_provider", `"longshore"`)
		set("model_providers.longshore", `{name="longshore", base_url=`+tomlString(url)+
			`, wire_api="responses", env_key="OPENAI_API_KEY", supports_websockets=false}`)
	}
	if s.model != "" {
		args = append(args, "-m", s.model)
	}
	if s.session != "" {
		args = append(args, "resume", s.session)
	}
	dir, env := s.place("CODEX_HOME", ".codex", "codex")
	if err := os.MkdirAll(dir, 0o700); err != nil { // codex does not create it
		return nil, nil, err
	}
	if key := s.getenv("OPENAI_API_KEY"); key != "" && s.getenv("CODEX_API_KEY") == "" {
		env = append(env, "CODEX_API_KEY="+key)
	}
	return append(args, "-"), env, nil
}

// tomlString returns a basic string of TOML, whose escapes are those of JSON.
func tomlString(s string) string {
	b, _ := json.Marshal(s) // marshalling a string cannot fail
	return string(b)
}

func (codex) prompt(text string) string { return text }

func (codex) event(line []byte, a *answer) {
	var e struct {
		Type    string    `json:"type"`
		Thread  string    `json:"thread_id"`
		Item    codexItem `json:"item"`
		Message string    `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
		Usage struct {
			Input  int64 `json:"input_tokens"`
			Cached int64 `json:"cached_input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "thread.started":
		a.session = e.Thread
	case "item.started":
		a.steps++
		if e.Item.tool() {
			a.tools++
		}
	case "item.completed":
		if e.Item.Type == "error" { // a remark of codex's, before it asks the model
			return
		}
		a.steps++
		if e.Item.tool() {
			a.tools = max(0, a.tools-1)
		}
		if e.Item.Type == "agent_message" {
			a.say(e.Item.ID, e.Item.Text)
		}
	case "turn.completed":
		a.done = true
		a.usage = usage{input: e.Usage.Input, cached: e.Usage.Cached, output: e.Usage.Output, tokensAdd: true}
	case "error": // codex tries again, or turn.failed follows
		a.complain(0, reason(e.Message), e.Message)
	case "turn.failed":
		a.fail(0, reason(e.Error.Message), e.Error.Message)
	}
}

// codexItem is a part of a turn.
type codexItem struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Text string `json:"text"`
}

// tool reports whether the item is a tool's call, for whose end codex waits.
func (i codexItem) tool() bool {
	return i.Type == "command_execution" || i.Type == "mcp_tool_call" || i.Type == "web_search"
}

func (codex) complaint(string, *answer) {} // it reports its retries on stdout

func (codex) lost() string { return "no rollout found for thread id" }
