//go:build e2e && linux

package mounts_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestAnotherSpellingDoesNotUncoverAShadow(t *testing.T) {
	g := withSecrets(t, fstest.Mkdir(t, fstest.Caseless(t), "ground"))
	for target, name := range map[string]string{
		".ENV": "config", "STATE": "s", "State/STORE/keys.db": "k", "../.Env": "sub/up", "/workspace/project/.ENV": "absolute",
	} {
		fstest.Symlink(t, target, g.Project, name)
	}
	m := g.mounts(t, g.main)
	hides(t, m,
		".env", ".ENV", ".Env", "state/store/keys.db", "State/store/keys.db", "STATE/STORE/KEYS.DB", "state/GROUPS/family/a/b/report.pdf",
		"STATE", "config", "s/store/keys.db", "S/Store/Keys.db", "k", "sub/up", "SUB/UP")
	refuses(t, m, "/workspace/project/absolute", mounts.CodePathShadowed)
	opens(t, m, "fine", "sub/report.pdf", "Sub/REPORT.pdf", "sub/.env", "SUB/.ENV")
}
