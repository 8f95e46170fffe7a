package driver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/internal/toolcheck"
	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// gemini is gemini-cli. Measured with 0.61.0.
type gemini struct{}

// ourContext is the file of instructions that gemini-cli reads in its own directory,
// because settings.json names the file.
const ourContext = "LONGSHORE.md"

func (gemini) command(s setup) (args, env []string, err error) {
	dir, env := geminiDir(s)
	if err := write(filepath.Join(dir, ourContext), s.instructions); err != nil {
		return nil, nil, err
	}
	// Two turns of one group may run at once, and settings.json is in the home that they
	// share. So the file has the names of what differs, which gemini-cli replaces.
	own := []string{toolcheck.Variable}
	if s.toolsEnv["LONGSHORE_TURN"] != "" {
		own = append(own, "LONGSHORE_TURN", "LONGSHORE_THREAD", "LONGSHORE_OWN_OUTBOX")
	}
	for _, name := range own {
		env = append(env, name+"="+s.toolsEnv[name])
		s.toolsEnv[name] = "$" + name
	}
	if s.token {
		s.toolsEnv[mcpconfig.TokenVariable] = "$" + mcpconfig.TokenVariable
	}
	if err := geminiSettings(filepath.Join(dir, "settings.json"), s); err != nil {
		return nil, nil, err
	}
	args = []string{"-o", "stream-json", "--skip-trust", "--allowed-mcp-server-names", "longshore", "--approval-mode"}
	if s.rights == Full {
		args = append(args, "yolo")
	} else {
		args = append(args, "auto_edit")
	}
	if s.model != "" {
		args = append(args, "-m", s.model)
	}
	if s.session != "" {
		args = append(args, "--resume", s.session)
	}
	return args, append(env, "GEMINI_CLI_NO_RELAUNCH=1"), nil
}

// geminiDir returns the directory .gemini; GEMINI_CLI_HOME names its parent.
func geminiDir(s setup) (dir string, env []string) {
	dir, env = s.place("GEMINI_CLI_HOME", ".gemini", "gemini")
	if filepath.Base(dir) == ".gemini" && env == nil && s.getenv("GEMINI_CLI_HOME") == "" {
		return dir, nil
	}
	return filepath.Join(dir, ".gemini"), env
}

// geminiSettings adds our part to gemini-cli's settings and keeps the rest.
// gemini-cli has no option that adds a server for one run only.
func geminiSettings(path string, s setup) error {
	all := map[string]any{}
	was, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(was, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read gemini-cli's settings.json: %w", err)
	}
	text, err := mcpconfig.For("gemini", s.tools, s.toolsEnv)
	if err != nil {
		return err
	}
	var ours struct {
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &ours); err != nil {
		return err
	}
	for name, server := range ours.Servers {
		object(all, "mcpServers")[name] = server
	}
	object(all, "context")["fileName"] = []string{"GEMINI.md", "AGENTS.md", "CLAUDE.md", ourContext}
	// Both connect to addresses that a container may not reach, and the turn would
	// wait.
	unless(object(all, "privacy"), "usageStatisticsEnabled", false)
	unless(object(all, "general"), "enableAutoUpdate", false)
	auth := object(object(all, "security"), "auth")
	if s.rights != Full {
		// A .env file in the workspace, or in a directory above it, may hold an
		// address that the key would be sent to. gemini-cli also reads .gemini/.env
		// when it checks that there is a key, so it must not check.
		object(all, "advanced")["ignoreLocalEnv"] = true
		auth["useExternal"] = true
	}
	if s.getenv("GEMINI_API_KEY") != "" {
		unless(auth, "selectedType", "gemini-api-key")
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return write(path, string(b)+"\n")
}

// object returns the object below key, and creates it if it is missing.
func object(in map[string]any, key string) map[string]any {
	if o, ok := in[key].(map[string]any); ok {
		return o
	}
	o := map[string]any{}
	in[key] = o
	return o
}

// unless sets a value if the operator has not set one.
func unless(in map[string]any, key string, value any) {
	if in[key] == nil {
		in[key] = value
	}
}

func (gemini) prompt(text string) string { return noMention(noCommand(text)) }

func (gemini) event(line []byte, a *answer) {
	var e struct {
		Type    string `json:"type"`
		Session string `json:"session_id"`
		Role    string `json:"role"`
		Content string `json:"content"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
		Stats struct {
			Input  int64 `json:"input_tokens"`
			Cached int64 `json:"cached"`
			Output int64 `json:"output_tokens"`
			Calls  int64 `json:"tool_calls"`
		} `json:"stats"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "init":
		a.session = e.Session
	case "tool_use":
		a.calls++
		a.steps++
		a.tools++
	case "tool_result":
		a.steps++
		a.tools = max(0, a.tools-1)
	case "message":
		if e.Role == "assistant" { // the text after a tool call is a new message
			a.steps++
			a.say(strconv.Itoa(a.calls), e.Content)
		}
	case "error":
		a.complain(0, clean(e.Message), e.Message)
	case "result":
		a.done = true
		a.usage = usage{input: e.Stats.Input, cached: e.Stats.Cached, output: e.Stats.Output}
		switch {
		case e.Status != "success":
			a.fail(0, cmp.Or(reason(e.Error.Message), "it gave no reason"), e.Error.Message)
		case a.text == "": // gemini-cli ends turns that it aborts itself in this way
			a.err = a.trouble
		}
	}
}

// complaint finds the retries, which gemini-cli reports on stderr only: "Attempt 1
// failed with status 429. Retrying with backoff...", with the service's words. If
// the quota is used up, gemini-cli would go on trying for minutes.
func (gemini) complaint(line string, a *answer) {
	words, found := strings.CutPrefix(line, "Attempt ")
	attempt, rest, _ := strings.Cut(words, " failed")
	if !found || rest == "" {
		return
	}
	trouble := clean("attempt " + attempt + " failed: " + reason(rest))
	a.complain(0, trouble, rest)
	if attempt != "1" && a.why == cause.Credit {
		a.giveUp, a.err = true, reason(rest)
	}
}

func (gemini) lost() string { return "Error resuming session" }
