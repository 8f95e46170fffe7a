package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// TestADryRunRefusesAsARealRunDoes asks both about each file. What is true of
// the host's decisions beyond a path is told by the tests of the bridge.
func TestADryRunRefusesAsARealRunDoes(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "longshore.yaml")
	workspace := filepath.Join(dir, "state/groups/family")
	write := func(name, content string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	in := func(name string) string { return filepath.Join(workspace, name) }
	write(config, `
channels: {web: {listen: "127.0.0.1:0"}}
groups: [{name: Family, folder: family, chat: "web:family", limits: {document: 20B}}]
`)
	if err := os.MkdirAll(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	own := write(filepath.Join(dir, "own.txt"), "More than twenty bytes of text.")
	empty := write(filepath.Join(dir, "none.txt"), "")
	write(in("ok.txt"), "fine")
	write(in("empty.txt"), "")
	write(in("large.txt"), "More than twenty bytes of text.")
	for _, err := range []error{
		os.Symlink("/etc/passwd", in("away")), os.Link(in("ok.txt"), in("second.txt")), syscall.Mkfifo(in("pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		more []string
		code string
	}{
		{"/workspace/project/go.mod", nil, "not_mounted"},
		{"/workspace/group/../../x", nil, "path_escapes"},
		{"/workspace/group/x/", nil, "bad_path"},
		{"/workspace/group/away", nil, "path_escapes"},
		{"/workspace/group/pipe", nil, "not_a_file"},
		{"/workspace/group/nope.pdf", nil, "file_missing"},
		{"/workspace/group/empty.txt", nil, "file_empty"},
		{"/workspace/group/second.txt", nil, "hard_link"},
		{"/workspace/group/large.txt", nil, "file_too_large"},
		{"/workspace/group/large.txt", []string{"--as", "voice"}, "style_impossible"},
		{"/workspace/group/large.txt", []string{"--as", "poster"}, "style_unknown"},
		{own, nil, "file_too_large"},
		{own, []string{"--as", "sticker"}, "style_impossible"},
		{empty, nil, "file_empty"},
		{dir, nil, "not_a_file"},
	} {
		t.Run(strings.Join(append([]string{filepath.Base(c.path)}, c.more...), " "), func(t *testing.T) {
			type end struct {
				Exit  int
				Words string
			}
			send := func(more ...string) (end, string) {
				var stdout, stderr strings.Builder
				args := append([]string{"--config", config, "send", c.path, "--group", "family"}, c.more...)
				exit := Run(t.Context(), "", stage.AllPlatforms(), append(args, more...), strings.NewReader(""), &stdout, &stderr)
				return end{exit, stderr.String()}, stdout.String()
			}
			real, _ := send()
			said, steps := send("--dry-run")
			if diff := cmp.Diff(real, said); diff != "" {
				t.Errorf("the dry run ends otherwise (-real +said):\n%s", diff)
			}
			if real.Exit != terminal.ExitRefused || !strings.Contains(real.Words, "("+c.code+")") {
				t.Errorf("the real run ends with %d, %s", real.Exit, real.Words)
			}
			lines := strings.Split(strings.TrimSpace(steps), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "no ") || !strings.Contains(last, "("+c.code+")") || strings.Count("\n"+steps, "\nno ") != 1 {
				t.Errorf("the last step is not the one that refuses:\n%s", steps)
			}
		})
	}
}
