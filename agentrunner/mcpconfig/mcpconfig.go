// Package mcpconfig writes down how an agent CLI starts the tools: the piece of
// configuration that each CLI wants, in its own file format.
//
// It knows nothing of containers and touches no file: a caller prints the text
// or puts it where [Place] says.
package mcpconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// server is the name under which a model sees the tools.
const server = "longshore"

// CLIs lists the agent CLIs that For knows, sorted.
func CLIs() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// Place says which file of its CLI the text of For belongs into. It is empty
// for an unknown CLI.
func Place(cli string) string {
	return map[string]string{
		"claude":   "mcp.json, given as: claude --mcp-config mcp.json --strict-mcp-config --allowedTools mcp__" + server,
		"codex":    "~/.codex/config.toml",
		"gemini":   "~/.gemini/settings.json or .gemini/settings.json",
		"opencode": "opencode.json",
	}[cli]
}

// For returns the configuration with which cli starts command (program and
// arguments) as its tool server, with env on top of its own environment. The
// text ends in a newline. An unknown CLI, an empty command or a control
// character in any part is an error.
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
	return "", fmt.Errorf("no configuration known for %q: one of %s", cli, strings.Join(CLIs(), ", "))
}

// CodexOverride is the same for codex as one key=value of its option -c, which
// leaves its configuration file alone.
func CodexOverride(command []string, env map[string]string) (string, error) {
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
	return fmt.Sprintf("mcp_servers.%s={command = %s, args = [%s], default_tools_approval_mode = \"approve\", env = {%s}}",
		server, quote(command[0]), quoted(command[1:]), strings.Join(pairs, ", ")), nil
}

func check(command []string, env map[string]string) error {
	if len(command) == 0 || command[0] == "" {
		return fmt.Errorf("no command given to start the tools with")
	}
	for _, s := range slices.Concat(command, slices.Collect(maps.Keys(env)), slices.Collect(maps.Values(env))) {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("control character in %q", s)
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
	Trust   bool              `json:"trust,omitempty"` // gemini asks before each call otherwise
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

// codex writes TOML, whose basic strings need only two characters escaped once
// control characters are out of the way.
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
