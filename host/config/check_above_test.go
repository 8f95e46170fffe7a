package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// twoGroups is a configuration in dir/etc whose groups may mount all of dir.
func twoGroups(first, second, more string) string {
	return fmt.Sprintf(`channels: {web: {}}
mounts: {allow: [{path: .., write: true}]}
groups:
- folder: one
  chat: web:one
  mounts: [%s]
- folder: two
  chat: web:two
  mounts: [%s]
%s`, first, second, more)
}

// An assistant that may write above another mount can put a link in the place
// of a directory on the way, which the host and the engine would follow.
func TestAMountBelowWhatAGroupMayWriteIsRefused(t *testing.T) {
	base := t.TempDir()
	dir := fstest.Mkdir(t, base, "etc")
	fstest.Mkdir(t, base, "share/team/docs")
	fstest.Mkdir(t, base, "share-evil/docs")
	fstest.Symlink(t, "share/team/docs", base, "docs")
	fstest.Symlink(t, "share", base, "link")
	fstest.Mkdir(t, base, "outside")
	fstest.Mkdir(t, base, "by")
	fstest.Write(t, "key", base, "outside/key")
	fstest.Symlink(t, "../outside", base, "share/out")
	fstest.Symlink(t, "../outside/key", base, "share/key")
	fstest.Symlink(t, base+"/share/out/.", base, "by/far")
	const (
		writes = "{name: all, host: ../share, write: true}"
		docs   = "{name: docs, host: ../share/team/docs}"
	)
	for _, tt := range []struct{ name, yaml, key string }{
		{"another group's", twoGroups(writes, docs, ""), "groups[1].mounts[0].host"},
		{"its own", twoGroups(writes+", "+docs, "", ""), "groups[0].mounts[1].host"},
		{"of a group that comes later", twoGroups(docs, writes, ""), "groups[0].mounts[0].host"},
		{"through a link to it", twoGroups(writes, "{name: docs, host: ../docs}", ""), "groups[1].mounts[0].host"},
		{"through a link above it", twoGroups("{name: all, host: ../link, write: true}", docs, ""), "groups[1].mounts[0].host"},
		{"both may write", twoGroups(writes, "{name: docs, host: ../share/team/docs, write: true}", ""), "groups[1].mounts[0].host"},
		{"the project", twoGroups(writes, "", "  main: true\nproject: ../share/team\n"), "project"},
		{"the project in a v1 workspace", twoGroups("", "", "  main: true\nlayout: v1\nstate: ../v1\nproject: ../v1/groups/one/p\n"), "project"},

		{"by a link that it could change", twoGroups(writes, "{name: out, host: ../share/out}", ""), "groups[1].mounts[0].host"},
		{"by a link to a link that it could change", twoGroups(writes, "{name: out, host: ../by/far}", ""), "groups[1].mounts[0].host"},
		{"the state directory", twoGroups(writes, "", "state: ../share/out\n"), "state"},
		{"a secret", twoGroups(writes, "", "assistants: {a: {env_from_file: {KEY: ../share/key}}}\n"), "assistants.a.env_from_file.KEY"},

		{"the same directory", twoGroups(writes, "{name: all, host: ../share}", ""), ""},
		{"a mount above", twoGroups(writes, "{name: docs, host: ../share}", ""), ""},
		{"a mount above, the other way round", twoGroups("{name: docs, host: ../share/team/docs, write: true}", "{name: all, host: ../share}", ""), ""},
		{"below what may only be read", twoGroups("{name: all, host: ../share}", docs, ""), ""},
		{"beside it", twoGroups(writes, "{name: docs, host: ../share-evil/docs}", ""), ""},
		{"no main group sees the project", twoGroups(writes, "", "project: ../share/team\n"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fstest.Mkdir(t, base, "v1/groups/one/p")
			refusedBelow(t, dir, tt.yaml, tt.key)
		})
	}
}

func refusedBelow(t *testing.T, dir, yaml, key string) {
	t.Helper()
	_, err := parse(t, dir, yaml)
	if key == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range problems(t, err) {
		if p.Key != key || !strings.Contains(p.Message, "put a link on the way") || p.Hint == "" {
			t.Errorf("%v", p)
		}
	}
}
