package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
)

// commonOf writes a configuration with a secret into a directory of its own, and returns its hash.
func commonOf(t *testing.T, text, secret string, registered ...groups.Group) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"secret": secret, "other": secret, "postgres": "host=/tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Parse(filepath.Join(dir, "longshore.yaml"), []byte(text), os.Getenv, []channel.Platform{web.Platform()})
	if err != nil {
		t.Fatal(err)
	}
	c.Groups = append(c.Groups, registered...)
	return c.Common()
}

func TestHostsCompareAllButWhatIsEachMachinesOwn(t *testing.T) {
	const text = `state: {directory: here, postgres: {from_file: postgres}}
cluster: {name: pair, host: a, lease: 10s}
log: {level: info}
metrics: {listen: "127.0.0.1:9001"}
channels: {web: {listen: "127.0.0.1:9002", token_file: secret}}
groups: [{folder: quay, chat: "web:quay", may_send_to: [pier]}, {folder: pier, chat: "web:pier"}]
`
	const secret = "0123456789abcdef0123456789abcdef"
	want := commonOf(t, text, secret)
	for name, change := range map[string][2]string{
		"directory": {"here", "there"}, "name of the host": {"host: a", "host: b"}, "log": {"level: info", "level: warn"}, "health": {"9001", "9003"},
		"page": {"9002", "9004"}, "secret's file": {"token_file: secret", "token_file: other"},
	} {
		if got := commonOf(t, strings.Replace(text, change[0], change[1], 1), secret); got != want {
			t.Errorf("another %s is another configuration", name)
		}
	}
	for name, change := range map[string][2]string{
		"lease": {"lease: 10s", "lease: 11s"}, "chat": {"web:pier", "web:wharf"}, "right": {", may_send_to: [pier]", ""},
	} {
		if got := commonOf(t, strings.Replace(text, change[0], change[1], 1), secret); got == want {
			t.Errorf("another %s is the same configuration", name)
		}
	}
	if commonOf(t, text, secret+"0") == want {
		t.Error("another secret is the same configuration")
	}
	if commonOf(t, text, secret, groups.Group{Folder: "berth", Chat: "web:berth", RegisteredBy: "quay"}) != want {
		t.Error("a group that is in the state is another configuration")
	}
}

func TestAClusterNeedsPostgreSQLAndAName(t *testing.T) {
	for text, want := range map[string]string{
		"cluster: {name: pair}\n": "share one PostgreSQL",
		"cluster: {host: a}\n":    "has no name",
		"cluster: {name: Pair}\n": "no name of a cluster",
		"cluster: {lease: 1s}\n":  "at least 2s",
	} {
		_, err := config.Parse("longshore.yaml", []byte(text+"groups: [{folder: quay, chat: \"web:quay\"}]\n"), os.Getenv, []channel.Platform{web.Platform()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
