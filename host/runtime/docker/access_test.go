package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
)

// A container was started although the host could not tell what its shadow had to hide.
func TestAShadowThatCannotBeLookedAtKeepsTheContainerDown(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shadow := func(hides string) error {
		return new(Engine).Access([]mounts.Mount{{Container: "/workspace/project/.env", Host: "/dev/null", ReadOnly: true, Shadow: true, Hides: hides}})
	}
	if err := shadow(filepath.Join(file, ".env")); err == nil || !strings.Contains(err.Error(), "cannot be looked at") {
		t.Errorf("%v", err)
	}
	for _, hides := range []string{file, filepath.Join(dir, "nothing")} {
		if err := shadow(hides); err != nil {
			t.Errorf("%s: %v", hides, err)
		}
	}
}
