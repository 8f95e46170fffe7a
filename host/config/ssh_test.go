package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestKeysOfAnAssistantOverSSHStayAtHome unless the operator writes otherwise, or has no key
// that the host could keep.
func TestKeysOfAnAssistantOverSSHStayAtHome(t *testing.T) {
	dir := configDir(t)
	key, known := filepath.Join(dir, "ssh-key"), filepath.Join(dir, "known_hosts")
	for _, name := range []string{key, known} {
		fstest.Write(t, "x", name)
	}
	for _, one := range []struct{ more, keys, want string }{
		{", agent: claude, env: {ANTHROPIC_API_KEY: a-key-of-the-test}", "proxy", ""},
		{", agent: claude, keys: inside, env: {ANTHROPIC_API_KEY: a-key-of-the-test}", "inside", ""},
		{", agent: claude, keys: proxy, env: {ANTHROPIC_API_KEY: a-key-of-the-test}", "proxy", ""},
		{", agent: claude, env: {CLAUDE_CODE_OAUTH_TOKEN: a-key-of-the-test}", "inside", ""},
		{"", "inside", ""},
		{", keys: proxy", "", "no key for the proxy"},
		{", network: none", "", "this is a container's"},
	} {
		c, err := parse(t, dir, fmt.Sprintf("assistants: {a: {runtime: ssh, ssh: {host: far, user: u, key: %q, known_hosts: %q}%s}}\n", key, known, one.more))
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%+v: %v", one, err)
		}
		if err == nil && c.Assistants["a"].Keys != one.keys {
			t.Errorf("%s: keys are %s", one.more, c.Assistants["a"].Keys)
		}
	}
}
