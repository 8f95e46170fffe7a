package config_test

import (
	"strings"
	"testing"
)

// TestProxyThatWouldKeepNoKeyIsRefused: an operator who asks for keys: proxy has it, or reads why not.
func TestProxyThatWouldKeepNoKeyIsRefused(t *testing.T) {
	dir := configDir(t)
	const key = "env: {ANTHROPIC_API_KEY: '${ANTHROPIC_KEY}'"
	for text, want := range map[string]string{
		"runtime: docker, agent: claude, keys: proxy, " + key + "}":                                                          "",
		"runtime: docker, agent: claude, keys: proxy, network: none, " + key + ", ANTHROPIC_BASE_URL: 'http://127.0.0.1:1'}": "",
		"runtime: docker, agent: claude, keys: inside, env: {CLAUDE_CODE_OAUTH_TOKEN: '${ANTHROPIC_KEY}'}":                   "",
		"runtime: process, agent: claude, keys: proxy, " + key + "}":                                                         "without a container",
		"runtime: docker, agent: claude, keys: proxy, network: host, " + key + "}":                                           "another's proxy",
		"runtime: docker, agent: claude, keys: proxy":                                                                        "no key for the proxy",
		"runtime: docker, agent: claude, keys: proxy, " + key + ", CLAUDE_CODE_OAUTH_TOKEN: '${ANTHROPIC_KEY}'}":             "cannot keep this credential",
		"runtime: docker, agent: opencode, keys: proxy, " + key + "}":                                                        "OpenAI address only",
		"runtime: docker, agent: claude, keys: proxy, " + key + ", ANTHROPIC_BASE_URL: 'http://model.example'}":              "is no https address",
		"runtime: docker, agent: claude, keys: elsewhere, " + key + "}":                                                      "unknown here",
	} {
		_, err := parse(t, dir, strings.ReplaceAll("assistants: {a: {"+text+"}}", "${ANTHROPIC_KEY}", "a-key-of-the-test"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
