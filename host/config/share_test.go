package config_test

import (
	"strings"
	"testing"
)

// TestContainerThatSharesNothingHasNoDirectories of the host's, and needs a container.
func TestContainerThatSharesNothingHasNoDirectories(t *testing.T) {
	dir := configDir(t)
	for _, one := range []struct{ assistant, group, more, want string }{
		{"runtime: docker, share: none, network: none", "", "", ""},
		{"runtime: docker, share: none", "parallel: 2", "", "cannot run at the same time"},
		{"runtime: docker, share: none", "mounts: [{name: s, host: ../share}]", "mounts: {allow: [{path: ../share}]}", "shares no directory"},
		{"runtime: docker, share: directories", "parallel: 2", "", ""},
		{"runtime: docker, share: some", "", "", "unknown here"},
		{"runtime: process, share: none", "", "", "only a container"},
		{"runtime: docker, share: none", "", "layout: v1", "v1's image knows no other way"},
	} {
		group := "folder: g, chat: 'web:g', assistant: a"
		if one.group != "" {
			group += ", " + one.group
		}
		c, err := parse(t, dir, "assistants: {a: {"+one.assistant+"}}\ngroups: [{"+group+"}]\n"+one.more+"\n")
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%+v: %v", one, err)
		}
		if err == nil && c.Alone(c.Groups[0]) != strings.Contains(one.assistant, "none,") {
			t.Errorf("%+v: alone is %v", one, c.Alone(c.Groups[0]))
		}
	}
}
