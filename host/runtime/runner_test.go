package runtime_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
)

// smallRunner stands for agentrunner. It shows if it has the host's environment.
const smallRunner = `#!/bin/sh
case "$1" in
version) echo "v1$SLACK_TOKEN" ;;
*) cat >/dev/null
   printf -- '---NANOCLAW_OUTPUT_START---\n{"status": "success", "result": "small %s"}\n---NANOCLAW_OUTPUT_END---\n' "$*" ;;
esac
`

// TestEveryAssistantMappedTheWholeHost though the small agentrunner lay beside it. Nothing that
// somebody else may have put there is run.
func TestEveryAssistantMappedTheWholeHost(t *testing.T) {
	t.Setenv("SLACK_TOKEN", "xoxb-secret")
	dir := t.TempDir()
	host, small := filepath.Join(dir, "longshore"), filepath.Join(dir, "agentrunner")
	program, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(host, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		content    string
		host, mode os.FileMode
		change     func(path string) error
		want       string
	}{
		"there":                       {smallRunner, 0o755, 0o755, nil, "small run"},
		"a group that may write both": {smallRunner, 0o775, 0o775, nil, "small run"},
		"not there":                   {"", 0o755, 0, os.Remove, "longshore agentrunner run"},
		"of another version":          {"#!/bin/sh\necho v2\n", 0o755, 0o755, nil, "longshore agentrunner run"},
		"for another machine":         {"\x7fELF\x02", 0o755, 0o755, nil, "longshore agentrunner run"},
		"may be written by others":    {smallRunner, 0o755, 0o757, nil, "longshore agentrunner run"},
		"another group's":             {smallRunner, 0o775, 0o775, func(path string) error { return os.Chown(path, -1, 12345) }, "longshore agentrunner run"},
		"another user's":              {smallRunner, 0o755, 0o755, func(path string) error { return os.Chown(path, 12345, -1) }, "longshore agentrunner run"},
		"a link": {smallRunner, 0o755, 0o755, func(path string) error {
			return errors.Join(os.Rename(path, path+"-1"), os.Symlink(path+"-1", path))
		}, "longshore agentrunner run"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(os.RemoveAll(small), os.WriteFile(small, []byte(test.content), 0o755), os.Chmod(small, test.mode), os.Chmod(host, test.host))
			if err == nil && test.change != nil {
				err = test.change(small)
			}
			if errors.Is(err, os.ErrPermission) {
				need.Lacking(t, "give a file to another user: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := exec.CommandContext(t.Context(), host, "play", "runner", t.TempDir()).Output(); err != nil || string(got) != test.want {
				t.Errorf("%q runs: %v", got, err)
			}
		})
	}
}
