package mcpconfig

import (
	"fmt"
	"net/url"
	"strings"
)

// TokenVariable is the environment variable in which the CLIs find the token. No
// configuration holds the token itself.
const TokenVariable = "LONGSHORE_TOKEN"

// inspector is the protocol's own tool, which is not an agent and takes its server as
// arguments.
const inspector = "inspector"

// HTTPClients lists the programs that ForHTTP knows.
func HTTPClients() []string { return append(CLIs(), inspector) }

// PlaceHTTP names where the text of ForHTTP belongs. It is empty for an unknown program.
func PlaceHTTP(cli string) string {
	if cli == inspector {
		return "a shell, to list the tools; the token then stands in the arguments of the inspector"
	}
	return Place(cli)
}

// ForHTTP returns the configuration with which cli reaches the tools of a host elsewhere with
// this address, without a program beside it. The token comes from the environment of the
// CLI. The text ends in a newline. An unknown program, or an address that is not
// http://HOST:PORT or https://HOST, is an error; both are permanent.
func ForHTTP(cli, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'`\\$", r) }) {
		return "", fmt.Errorf("%q is not the address of a host, such as http://127.0.0.1:8430", address)
	}
	at := strings.TrimSuffix(strings.TrimRight(address, "/"), "/mcp") + "/mcp"
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	switch cli {
	case "claude":
		return document(map[string]any{"mcpServers": map[string]any{server: web{Type: "http", URL: at, Headers: bearer("${" + TokenVariable + "}")}}})
	case "gemini":
		return document(map[string]any{"mcpServers": map[string]any{server: web{HTTPURL: at, Headers: bearer("$" + TokenVariable), Trust: true}}})
	case "opencode":
		off := false
		return document(struct {
			Schema string         `json:"$schema"`
			MCP    map[string]any `json:"mcp"`
		}{"https://opencode.ai/config.json", map[string]any{server: web{
			Type: "remote", URL: at, Headers: bearer("{env:" + TokenVariable + "}"), OAuth: &off, Enabled: true}}})
	case "codex":
		return fmt.Sprintf("[mcp_servers.%s]\nurl = %s\nbearer_token_env_var = %s\ndefault_tools_approval_mode = \"approve\"\n", server, quote(at), quote(TokenVariable)), nil
	case inspector:
		return fmt.Sprintf("npx @modelcontextprotocol/inspector --cli %s --transport http --header \"Authorization: Bearer $%s\" --method tools/list\n", at, TokenVariable), nil
	}
	return "", fmt.Errorf("unknown agent CLI %q; use one of %s", cli, strings.Join(HTTPClients(), ", "))
}

// web is a server entry of Claude Code, gemini-cli or opencode.
type web struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	HTTPURL string            `json:"httpUrl,omitempty"`
	Headers map[string]string `json:"headers"`
	Trust   bool              `json:"trust,omitempty"`   // gemini-cli asks before each call otherwise
	OAuth   *bool             `json:"oauth,omitempty"`   // opencode would look for a login otherwise
	Enabled bool              `json:"enabled,omitempty"` // of opencode
}
