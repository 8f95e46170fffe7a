// Package mcpconfig writes the configuration with which an agent CLI starts the
// tools, in each CLI's own file format.
//
// It knows nothing of containers and touches no file. The caller prints the text or
// puts it where [Place] says.
package mcpconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// server is the name of the tool server that a model sees.
const server = "longshore"

// CLIs lists the agent CLIs that For knows, in alphabetical order.
func CLIs() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// Place names the CLI's file that the text of For belongs in. It is empty for an
// unknown CLI.
func Place(cli string) string {
	return map[string]string{
		"claude":   "mcp.json, given as: claude --mcp-config mcp.json --strict-mcp-config --allowedTools mcp__" + server,
		"codex":    "~/.codex/config.toml",
		"gemini":   "~/.gemini/settings.json or .gemini/settings.json",
		"opencode": "opencode.json",
	}[cli]
}

// For returns the configuration with which cli starts command (a program and its
// arguments) as its tool server. env is added to the server's environment. The text
// ends in a newline. An unknown CLI, an empty command, or a control character in any
// part is an error; all are permanent.
func For(cli string, command []string, env map[string]string) (string, error) {
	if err := check(command, env); err != nil {
		return "", err
	}
	if env == nil {
		env = map[string]string{}
	}
	switch cli {
	case "claude":
		return document(map[string]any{"mcpServers": map[string]any{server: stdio{
			Type: "stdio", Command: command[0], Args: nonNil(command[1:]), Env: env}}})
	case "gemini":
		return document(map[string]any{"mcpServers": map[string]any{server: stdio{
			Command: command[0], Args: nonNil(command[1:]), Env: env, Trust: true}}})
	case "opencode":
		return document(struct {
			Schema string         `json:"$schema"`
			MCP    map[string]any `json:"mcp"`
		}{"https://opencode.ai/config.json", map[string]any{server: local{
			Type: "local", Command: command, Env: env, Enabled: true}}})
	case "codex":
		return codex(command, env), nil
	}
	return "", fmt.Errorf("unknown agent CLI %q; use one of %s", cli, strings.Join(CLIs(), ", "))
}

// CodexOverride returns the same configuration for codex as one key=value for its
// option -c, so that codex's configuration file is not touched. passed are variables of
// codex's own environment that the server gets too.
func CodexOverride(command []string, env map[string]string, passed []string) (string, error) {
	if err := check(command, env); err != nil {
		return "", err
	}
	quoted := func(all []string) string {
		list := make([]string, len(all))
		for i, s := range all {
			list[i] = quote(s)
		}
		return strings.Join(list, ", ")
	}
	pairs := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, quote(key)+" = "+quote(env[key]))
	}
	inherit := ""
	if len(passed) > 0 {
		inherit = fmt.Sprintf(", env_vars = [%s]", quoted(passed))
	}
	return fmt.Sprintf("mcp_servers.%s={command = %s, args = [%s], default_tools_approval_mode = \"approve\", env = {%s}%s}",
		server, quote(command[0]), quoted(command[1:]), strings.Join(pairs, ", "), inherit), nil
}

func check(command []string, env map[string]string) error {
	if len(command) == 0 || command[0] == "" {
		return fmt.Errorf("no command is given to start the tools with")
	}
	for _, s := range slices.Concat(command, slices.Collect(maps.Keys(env)), slices.Collect(maps.Values(env))) {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%q contains a control character", s)
		}
	}
	return nil
}

// stdio is a server entry of Claude Code and of gemini-cli.
type stdio struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Trust   bool              `json:"trust,omitempty"` // gemini-cli asks before each call otherwise
}

// local is a server entry of opencode.
type local struct {
	Type    string            `json:"type"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"environment"`
	Enabled bool              `json:"enabled"`
}

func nonNil(args []string) []string { return append([]string{}, args...) }

func document(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode configuration: %w", err)
	}
	return b.String(), nil
}

// codex returns TOML. Without control characters, a basic string needs only two
// characters escaped.
func codex(command []string, env map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\ncommand = %s\nargs = [", server, quote(command[0]))
	for i, arg := range command[1:] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(arg))
	}
	b.WriteString("]\ndefault_tools_approval_mode = \"approve\"\n")
	if len(env) > 0 {
		fmt.Fprintf(&b, "\n[mcp_servers.%s.env]\n", server)
		for _, key := range slices.Sorted(maps.Keys(env)) {
			fmt.Fprintf(&b, "%s = %s\n", quote(key), quote(env[key]))
		}
	}
	return b.String()
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
