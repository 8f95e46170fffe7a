package whatsapp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/need"
)

// A bare chroot has no /proc. The host ran there, and every file was refused with a
// word that did not help.
func TestWithoutProcTheHostSaysWhatToMount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	if err := os.WriteFile(file, []byte("groups:\n  - {name: A, folder: a, chat: \"web:a\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"serve", "doctor"} {
		cmd := exec.CommandContext(stage.Soon(t), "unshare", "--mount", "sh", "-c", `umount -l /proc && exec "$0" -c "$1" "$2"`, exe, file, args)
		cmd.Env = append(os.Environ(), stage.ServeEnv+"=1")
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "unshare") || strings.Contains(string(out), "umount") || cmd.ProcessState == nil {
			need.Lacking(t, "unmount /proc in a namespace: %v: %s", err, out)
		}
		if err == nil || !strings.Contains(string(out), "there is no /proc") || !strings.Contains(string(out), "mount -t proc proc /proc") {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}
