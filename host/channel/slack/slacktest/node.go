package slacktest

import (
	"embed"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The programs, and the exact versions of all that they are made of.
//
//go:embed testdata
var programs embed.FS

// Types is the directory of npm's @slack/types, Slack's own account of what it sends: its
// dist has the declarations. The test is skipped without npm.
func Types(t testing.TB) string {
	t.Helper()
	return filepath.Join(npmtest.Modules(t, programs, "testdata/slack-node"), "@slack", "types")
}
