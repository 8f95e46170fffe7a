//go:build e2e

package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"

	"github.com/longshore-bridge/longshore/host/config"
)

// What is below what is decided by the directories, not by their spelling.
func TestPathsAreComparedByWhatTheyAreAtLoad(t *testing.T) {
	base := fstest.Caseless(t)
	dir := fstest.Mkdir(t, base, "etc")
	fstest.Mkdir(t, base, "share/team/docs")
	fstest.Mkdir(t, base, "state/sub")
	fstest.Write(t, "a-token-of-the-page", base, "share/token")
	refusedBelow(t, dir, twoGroups("{name: all, host: ../share, write: true}", "{name: docs, host: ../SHARE/team/docs}", ""), "groups[1].mounts[0].host")
	for name, tt := range map[string]struct{ yaml, message string }{
		"the state directory":      {"state: ../state\n" + mountOf("../STATE", ".."), "overlap"},
		"in the state directory":   {"state: ../state\n" + mountOf("../State/SUB", ".."), "overlap"},
		"over the state directory": {"state: ../SHARE/state\n" + mountOf("../share", ".."), "overlap"},
		"over the configuration":   {"state: ../state\n" + mountOf("../ETC", ".."), "holds longshore.yaml"},
		"the project in the state": {"state: ../state\nproject: ../State\n", "state directory"},
		"a secret in a mount":      {"state: ../state\nchannels:\n  web:\n    token_file: ../SHARE/token\n" + mountOf("../share", ".."), "would see"},
	} {
		err := wrong(config.Parse(filepath.Join(dir, "longshore.yaml"), []byte(tt.yaml), func(string) string { return "" }, platforms()))
		if err == nil || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v, want %s", name, err, tt.message)
		}
	}
}

// /dev/null over .env covers one of its spellings only.
func TestASecretThatAContainerFindsUnderAnotherSpellingIsWarnedOf(t *testing.T) {
	for dir, want := range map[string]string{fstest.Caseless(t): "main's container can read .env as .ENV", t.TempDir(): ""} {
		fstest.Write(t, "SECRET", dir, ".env")
		yaml := "state: " + t.TempDir() + "\nchannels: {web: {}}\nassistants: {a: {runtime: docker}}\ngroups:\n- {folder: main, chat: 'web:a', main: true, assistant: a}\n"
		cfg, err := parse(t, dir, yaml)
		if err != nil {
			t.Fatal(err)
		}
		warned(t, dir, cfg, want)
	}
}
