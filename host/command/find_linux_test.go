package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestADirectoryThatMayNotBeSearchedHidTheConfiguration: such as an administrator's home, in which
// a command runs as the host's user.
func TestADirectoryThatMayNotBeSearchedHidTheConfiguration(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	home, here := t.TempDir(), t.TempDir()
	own := filepath.Join(home, ".config/longshore/longshore.yaml")
	t.Chdir(here)
	if err := os.Chmod(here, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(here, 0o700) })
	e := &env{getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	if e.find(false); e.Config != "longshore.yaml" {
		t.Errorf("without another: %s", e.Config)
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("groups: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e.find(false); e.Config != own {
		t.Errorf("it found %s", e.Config)
	}
}
