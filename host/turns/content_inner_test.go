package turns

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The assistant may put anything in the place of a member's file before its next prompt.
func TestLinksAndPipesOfTheInboxAreNotReadIntoThePrompt(t *testing.T) {
	workspace := t.TempDir()
	inbox := filepath.Join(workspace, "inbox")
	secret := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.Mkdir(inbox, 0o755), os.WriteFile(secret, []byte("of the host"), 0o600), os.WriteFile(filepath.Join(inbox, "a.txt"), []byte("mine"), 0o600),
		os.Symlink(secret, filepath.Join(inbox, "link.txt")), syscall.Mkfifo(filepath.Join(inbox, "pipe.txt"), 0o600), os.Mkdir(filepath.Join(inbox, "dir.txt"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a.txt": "mine", "link.txt": "", "pipe.txt": "", "dir.txt": "", "none.txt": ""} {
		if got := smallText(workspace, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := os.RemoveAll(inbox); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(secret), inbox); err != nil {
		t.Fatal(err)
	}
	if got := smallText(workspace, "secret"); got != "" {
		t.Errorf("through a link in the inbox's place: %q", got)
	}
}
