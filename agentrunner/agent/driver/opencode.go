package driver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// opencode is opencode. Measured with 1.18.33.
type opencode struct{}

func (opencode) command(s setup) (args, env []string, err error) {
	dir := filepath.Join(s.home, "opencode")
	ours := filepath.Join(dir, "longshore.md")
	if err := write(ours, s.instructions); err != nil {
		return nil, nil, err
	}
	if s.token {
		s.toolsEnv[mcpconfig.TokenVariable] = "{env:" + mcpconfig.TokenVariable + "}"
	}
	text, err := mcpconfig.For("opencode", s.tools, s.toolsEnv)
	if err != nil {
		return nil, nil, err
	}
	config := map[string]any{}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, nil, err
	}
	config["autoupdate"], config["share"] = false, "disabled"
	config["instructions"] = []string{ours}
	config["permission"] = map[string]any{"*": "allow"}
	if s.rights != Full {
		if err := s.noConfiguration(); err != nil {
			return nil, nil, err
		}
		edit := map[string]any{"*": "allow", "*.opencode*": "deny", "*opencode.json*": "deny"}
		config["permission"] = map[string]any{"*": "allow", "bash": "deny", "external_directory": "deny", "edit": edit}
		config["instructions"] = append(s.ownInstructions(), ours)
		// The model may write in the workspace. Without this, what it plants there
		// would run in the next turn.
		env = []string{"OPENCODE_DISABLE_PROJECT_CONFIG=1"}
	}
	model, err := opencodeModel(s, config)
	if err != nil {
		return nil, nil, err
	}
	content, err := json.Marshal(config)
	if err != nil {
		return nil, nil, err
	}
	for variable, usual := range map[string]string{"XDG_DATA_HOME": ".local/share", "XDG_CONFIG_HOME": ".config",
		"XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache", "npm_config_cache": ".npm"} {
		_, set := s.place(variable, filepath.Join(usual, "opencode"), filepath.Join("opencode", filepath.Base(usual)))
		env = append(env, set...)
	}
	env = append(env, "OPENCODE_CONFIG_CONTENT="+string(content), "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1")
	// Only the log tells of its retries.
	args = []string{"run", "--format", "json", "--print-logs", "--log-level", "ERROR"}
	if model != "" {
		args = append(args, "--model", model)
	}
	if s.session != "" {
		args = append(args, "--session", s.session)
	}
	return args, env, nil
}

// noConfiguration refuses a turn if the workspace holds a configuration of opencode:
// opencode runs the plugins in it, whatever its settings are. The model cannot write
// such a file, but another program may have.
func (s setup) noConfiguration() error {
	for _, name := range []string{".opencode", "opencode.json", "opencode.jsonc"} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			return fmt.Errorf("%s could run programs: remove it from the workspace, or set LONGSHORE_RIGHTS=full", name)
		}
	}
	return nil
}

// ownInstructions returns the workspace's instructions. opencode does not read them
// if the project's configuration is turned off.
func (s setup) ownInstructions() []string {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		path := filepath.Join(s.dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path}
		}
	}
	return nil
}

// opencodeModel returns the model as provider/name. A model at the operator's own
// address needs a provider in the configuration.
func opencodeModel(s setup, config map[string]any) (string, error) {
	url := s.getenv("OPENAI_BASE_URL")
	if url == "" || strings.Contains(s.model, "/") {
		return s.model, nil
	}
	if s.model == "" {
		return "", fmt.Errorf("OPENAI_BASE_URL is set: LONGSHORE_MODEL must name the model there")
	}
	config["provider"] = map[string]any{"longshore": map[string]any{
		"npm":     "@ai-sdk/openai-compatible",
		"options": map[string]any{"baseURL": url, "apiKey": "{env:OPENAI_API_KEY}"},
		"models":  map[string]any{s.model: map[string]any{}},
	}}
	return "longshore/" + s.model, nil
}

func (opencode) prompt(text string) string { return text }

func (opencode) event(line []byte, a *answer) {
	var e struct {
		Type    string `json:"type"`
		Session string `json:"sessionID"`
		Part    struct {
			Message string  `json:"messageID"`
			Text    string  `json:"text"`
			Reason  string  `json:"reason"`
			Cost    float64 `json:"cost"`
			Tokens  struct {
				Input  int64 `json:"input"`
				Output int64 `json:"output"`
				Cache  struct {
					Read int64 `json:"read"`
				} `json:"cache"`
			} `json:"tokens"`
		} `json:"part"`
		Error struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
				Status  int    `json:"statusCode"`
			} `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if e.Session != "" {
		a.session = e.Session
	}
	if e.Type == "text" || e.Type == "tool_use" || e.Type == "step_finish" { // a step also starts if the connection then breaks
		a.steps++
	}
	switch e.Type {
	case "text":
		a.say(e.Part.Message, e.Part.Text)
	case "step_finish":
		t := e.Part.Tokens
		a.usage.input += t.Input + t.Cache.Read
		a.usage.cached += t.Cache.Read
		a.usage.output += t.Output
		a.usage.cost += e.Part.Cost
		a.done = a.done || e.Part.Reason != "tool-calls"
	case "error":
		err := clean(e.Error.Data.Message)
		if err == "" {
			err = clean("error " + e.Error.Name)
		}
		a.fail(e.Error.Data.Status, err, e.Error.Name+" "+err)
	}
}

// complaint finds the retries, which opencode reports in its log only:
//
//	… level=ERROR … message="stream error" … agent=build … error.error="AI_APICallError: Overloaded"
//
// It also asks for a title, as the agent title, and goes on without one. If the
// quota is used up, opencode would go on trying for minutes.
func (opencode) complaint(line string, a *answer) {
	_, words, found := strings.Cut(line, `error.error="`)
	if !found || !strings.Contains(line, `message="stream error"`) || strings.Contains(line, "agent=title") {
		return
	}
	words = strings.TrimSuffix(words, `"`)
	again := a.why == cause.Credit
	a.complain(0, clean(words), words)
	if again && a.why == cause.Credit {
		a.giveUp, a.err = true, a.trouble
	}
}

func (opencode) lost() string { return "Session not found" }
