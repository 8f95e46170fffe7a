package config

import (
	"fmt"

	"github.com/longshore-bridge/longshore/host/keys"
)

// keyNames are the variables whose values the host keeps with keys: proxy, each
// with the one that names another address of the service.
var keyNames = []struct{ key, address string }{
	{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	{"OPENAI_API_KEY", "OPENAI_BASE_URL"},
	{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
}

// HasModelKey reports whether the assistant's environment has a key that the proxy
// could keep.
func (a Assistant) HasModelKey() bool {
	for _, n := range keyNames {
		if _, ok := a.Env[n.key]; ok {
			return true
		}
	}
	return false
}

// otherKeys are credentials of models that the proxy does not know. They would lie
// in the container.
var otherKeys = []string{
	"ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
	"OPENROUTER_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK",
}

// keys refuses keys: proxy if it would not keep the key from the assistant.
func (c *checker) keys(key string, a Assistant) {
	at := key + ".keys"
	if a.Runtime != "docker" {
		c.bad(at, "without a container the assistant can read the host's memory and files, so the proxy would keep nothing from it",
			"set runtime: docker, or keys: inside")
	}
	if c.cfg.Style == "v1" {
		c.bad(at, "v1's image does not know the proxy", "set keys: inside, or leave layout: v1 out")
	}
	if a.Network == "host" {
		c.bad(at, "on network: host one group's assistant would reach another's proxy", "set network: none, or keys: inside")
	}
	for _, name := range otherKeys {
		if _, ok := a.Env[name]; ok {
			c.bad(key+".env."+name, "the proxy cannot keep this credential on the host", "use ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or set keys: inside")
		}
	}
	for _, n := range keyNames {
		if _, ok := a.Env[n.key]; ok {
			c.upstream(key+".env."+n.address, a.Env[n.address].Reveal())
		}
	}
	if !a.HasModelKey() {
		c.bad(at, "there is no key for the proxy to keep", "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in env or env_from_file, or keys: inside")
	}
	if _, ok := a.Env["OPENAI_API_KEY"]; a.Agent == "opencode" && !ok {
		c.bad(at, "through the proxy, opencode speaks to an OpenAI address only", "set OPENAI_API_KEY and LONGSHORE_MODEL, or keys: inside")
	}
}

// upstream checks the address to which the host would send a key.
func (c *checker) upstream(key, address string) {
	if address == "" {
		return
	}
	if _, err := keys.ParseURL(address); err != nil {
		c.bad(key, fmt.Sprintf("%q %v", address, err), "write https://HOST/PATH; http only for 127.0.0.1 or [::1]")
	}
}
