package config_test

import (
	"strings"
	"testing"
)

// provider is an assistant that uses a service of the operator's description.
func provider(keys string) string {
	return "runtime: docker, agent: command, command: [a], keys: proxy, env: {M_KEY: '${ANTHROPIC_KEY}'}, providers: {m: {" + keys + "}}"
}

// TestBudgetThatNothingCountsIsRefused, since the operator would rely on it.
func TestBudgetThatNothingCountsIsRefused(t *testing.T) {
	dir := configDir(t)
	const proxied, group = "assistants: {a: {runtime: docker, agent: claude, keys: %, env: {ANTHROPIC_API_KEY: k}}}\n", "groups: [{folder: f, chat: 'web:f', assistant: a, budget: {@}}]\n"
	for _, one := range []struct{ keys, budget, rest, want string }{
		{"proxy", "tokens: 5", "", ""},
		{"proxy", "usd: 0.5, per: month", "prices: {'claude-*': {input: 3, output: 15}}\n", ""},
		{"proxy", "usd: 0.5, per: month", "", "no model has a price"},
		{"inside", "tokens: 5", "", "only the host counts"},
		{"proxy", "tokens: -5", "", "must be above 0"},
		{"proxy", "tokens: 5, per: week", "", "unknown here"},
		{"proxy", "", "limits: {budget: {usd: 5}}\n", "no model has a price"},
		{"proxy", "", "limits: {budget: {tokens: 7}}\n", ""},
		{"inside", "", "limits: {budget: {tokens: 7}}\n", ""},
		{"proxy", "", "prices: {'a b': {input: 3}}\n", "is no name of a model"},
		{"proxy", "", "prices: {a: {input: -3}}\n", "at least 0"},
	} {
		text := strings.Replace(proxied, "%", one.keys, 1) + strings.Replace(group, "@", one.budget, 1) + one.rest
		c, err := parse(t, dir, text)
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%s: %v, want %q", text, err, one.want)
		}
		if w := ""; strings.Contains(one.rest, "tokens: 7") {
			for _, p := range c.Warnings {
				w += p.Message
			}
			if counted := one.keys == "proxy"; counted == strings.Contains(w, "it does not limit f") {
				t.Errorf("%s: the warnings %q", text, w)
			}
			continue
		}
		if one.want == "" && !c.Budget(c.Groups[0]).Limited() {
			t.Errorf("%s: no budget", text)
		}
	}
}

// TestKeyOfOneGroupIsNoOthers: what is stored under it would be.
func TestKeyOfOneGroupIsNoOthers(t *testing.T) {
	dir := configDir(t)
	assistant := func(name, key, more string) string {
		return name + ": {runtime: docker, agent: claude, keys: proxy, env: {ANTHROPIC_API_KEY: " + key + "}" + more + "}"
	}
	const own = ", own_key: true"
	for _, one := range []struct{ assistants, groups, want string }{
		{assistant("a", "k1", own) + ", " + assistant("b", "k2", ""), "{folder: f, chat: 'web:f', assistant: a}, {folder: g, chat: 'web:g', assistant: b}", ""},
		{assistant("a", "k1", own) + ", " + assistant("b", "k1", ""), "", "another assistant has the same key"},
		{assistant("a", "k1", own), "{folder: f, chat: 'web:f', assistant: a}, {folder: g, chat: 'web:g', assistant: a}", "2 groups have this assistant"},
		{"a: {runtime: docker, agent: claude, own_key: true}", "", "only the host's proxy"},
	} {
		_, err := parse(t, dir, "assistants: {"+one.assistants+"}\ngroups: ["+one.groups+"]\n")
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%s, %s: %v, want %q", one.assistants, one.groups, err, one.want)
		}
	}
}

// TestProxyThatWouldKeepNoKeyIsRefused: an operator who asks for keys: proxy has it, or reads why not.
func TestProxyThatWouldKeepNoKeyIsRefused(t *testing.T) {
	dir := configDir(t)
	const key = "env: {ANTHROPIC_API_KEY: '${ANTHROPIC_KEY}'"
	for text, want := range map[string]string{
		"runtime: docker, agent: claude, keys: proxy, " + key + "}":                                                                                    "",
		"runtime: docker, agent: claude, keys: proxy, network: none, " + key + ", ANTHROPIC_BASE_URL: 'http://127.0.0.1:1'}":                           "",
		"runtime: docker, agent: claude, keys: inside, env: {CLAUDE_CODE_OAUTH_TOKEN: '${ANTHROPIC_KEY}'}":                                             "",
		"runtime: process, agent: claude, keys: proxy, " + key + "}":                                                                                   "without a container or another machine",
		"runtime: docker, agent: claude, keys: proxy, network: host, " + key + "}":                                                                     "another's proxy",
		"runtime: docker, agent: claude, keys: proxy":                                                                                                  "no key for the proxy",
		"runtime: docker, agent: claude, keys: proxy, " + key + ", CLAUDE_CODE_OAUTH_TOKEN: '${ANTHROPIC_KEY}'}":                                       "cannot keep this credential",
		"runtime: docker, agent: opencode, keys: proxy, " + key + "}":                                                                                  "OpenAI address only",
		"runtime: docker, agent: claude, keys: proxy, " + key + ", ANTHROPIC_BASE_URL: 'http://model.example'}":                                        "is no https address",
		"runtime: docker, agent: claude, keys: elsewhere, " + key + "}":                                                                                "unknown here",
		"runtime: docker, agent: claude, keys: proxy, env: {ANTHROPIC_AUTH_TOKEN: '${ANTHROPIC_KEY}'}":                                                 "",
		"runtime: docker, agent: claude, keys: proxy, " + key + ", ANTHROPIC_AUTH_TOKEN: '${ANTHROPIC_KEY}'}":                                          "are for the same service",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_URL"):                                                                  "",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_URL, header: X-Key, scheme: '', calls: ['POST /v1/*/chat', 'GET /m']"): "",
		provider("url: 'http://x/v1', key_variable: M_KEY, address_variable: M_URL"):                                                                   "is no https address",
		provider("url: 'https://x/v1', key_variable: OTHER, address_variable: M_URL"):                                                                  "OTHER is not set",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_KEY"):                                                                  "M_KEY is set in env too",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: OPENAI_BASE_URL"):                                                        "needs no entry here",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_URL, header: Host"):                                                    "cannot carry a key",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_URL, scheme: 'a b'"):                                                   "is no word",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_URL, calls: ['DELETE /x']"):                                            "is no call",
		provider("url: 'https://x/v1', key_variable: M_KEY, address_variable: M_URL, calls: ['GET /x/../y']"):                                          "is no call",
		"runtime: docker, agent: claude, providers: {m: {url: 'https://x', key_variable: A, address_variable: B}}":                                     "only the host uses them",
	} {
		_, err := parse(t, dir, strings.ReplaceAll("assistants: {a: {"+text+"}}", "${ANTHROPIC_KEY}", "a-key-of-the-test"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
