package command

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/internal/need"
)

// Each command finds the same configuration, and what it prints works as printed.
func TestTheConfigurationIsFound(t *testing.T) {
	t.Chdir(t.TempDir())
	home, xdg, other := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "other.yaml")
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("groups: []\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"HOME": home}
	made := func(out *strings.Builder) *env {
		return &env{Terminal: terminal.Terminal{Stdin: strings.NewReader(""), Stdout: out, Stderr: out}, getenv: func(name string) string { return vars[name] }, platforms: stage.AllPlatforms()}
	}
	found := func(args ...string) (config, remedy string) {
		t.Helper()
		var out strings.Builder
		one := made(&out)
		if code := one.run(t.Context(), append(args, "version")); code != terminal.ExitOK {
			t.Fatalf("%v: %d", args, code)
		}
		return one.Config, one.Command("serve")
	}
	for _, tt := range []struct {
		name         string
		do           func()
		args         []string
		want, remedy string
	}{
		{"nothing", func() {}, nil, "longshore.yaml", "longshore serve"},
		{"the user's", func() { write(filepath.Join(home, ".config/longshore/longshore.yaml")) }, nil, filepath.Join(home, ".config/longshore/longshore.yaml"), "longshore serve"},
		{"XDG's", func() { vars["XDG_CONFIG_HOME"] = xdg; write(filepath.Join(xdg, "longshore/longshore.yaml")) }, nil, filepath.Join(xdg, "longshore/longshore.yaml"), "longshore serve"},
		{"here", func() { write("longshore.yaml") }, nil, "longshore.yaml", "longshore serve"},
		{"by the environment", func() { write(other); vars[configEnv] = other }, nil, other, "longshore serve"},
		{"by -c", func() {}, []string{"-c", "mine.yaml"}, "mine.yaml", "longshore -c mine.yaml serve"},
	} {
		tt.do()
		if got, remedy := found(tt.args...); got != tt.want || remedy != tt.remedy {
			t.Errorf("%s: %s, %q", tt.name, got, remedy)
		}
	}
	delete(vars, configEnv)
	if err := os.Remove("longshore.yaml"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code := made(&out).run(t.Context(), []string{"init"}); code != terminal.ExitOK || !strings.Contains(out.String(), "wrote longshore.yaml") {
		t.Errorf("%d, %s", code, out.String())
	}
}

// TestAnAdminReadOnlyThatAnotherUserMayReadTheConfiguration: not which one, nor how.
func TestAnAdminReadOnlyThatAnotherUserMayReadTheConfiguration(t *testing.T) {
	file, owner := "/etc/passwd", "root" // whoever runs this test does not own it
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			need.Lacking(t, "name another user: %v", err)
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		file, owner = filepath.Join(t.TempDir(), "longshore.yaml"), "nobody"
		if err := os.Chown(filepath.Dir(file), uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	denied := fmt.Errorf("read configuration: %w", &fs.PathError{Op: "open", Path: file, Err: fs.ErrPermission})
	if want := "sudo -u " + owner + " longshore -c " + file + " …"; !strings.Contains(noConfigHint(denied), want) {
		t.Errorf("the hint is %q, want %q in it", noConfigHint(denied), want)
	}
	nowhere := &fs.PathError{Op: "open", Path: "/nowhere/longshore.yaml", Err: fs.ErrPermission}
	if hint := noConfigHint(nowhere); strings.Contains(hint, "sudo") || !strings.Contains(hint, "the user that the host runs as") {
		t.Errorf("without an owner the hint is %q", hint)
	}
}
