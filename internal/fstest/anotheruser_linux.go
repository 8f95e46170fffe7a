package fstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// AsAnotherUser runs a test of root's again without root's rights, which no mode
// of a file limits.
func AsAnotherUser(t *testing.T) {
	t.Helper()
	temp, err := os.MkdirTemp("/tmp", "longshore")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	const uid = 54321
	if err := os.Chown(temp, uid, uid); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("/proc/self/exe") // where that lies, another user may not go
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(temp, "test")
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = temp, append(os.Environ(), "TMPDIR="+temp, "HOME="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}
