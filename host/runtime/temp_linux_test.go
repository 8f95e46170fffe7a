package runtime

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A directory in which its owner may not write, as Go's module cache makes
// them, kept a group's assistant from starting until an operator removed it.
// Root may remove everything, so the test runs as another user.
func TestTemporaryFilesWithoutRightsAreRemoved(t *testing.T) {
	if os.Getuid() == 0 {
		asAnotherUser(t)
		return
	}
	dir := filepath.Join(t.TempDir(), "tmp", "fam")
	locked := filepath.Join(dir, "mod", "locked")
	err := errors.Join(os.MkdirAll(filepath.Join(locked, "below"), 0o755), os.WriteFile(filepath.Join(locked, "file"), nil, 0o644),
		os.Chmod(filepath.Join(locked, "below"), 0), os.Chmod(locked, 0o500))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&process{}).makeTemp(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(locked)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was locked is still there: %v", err)
	}
}

// asAnotherUser runs this test again without root's rights.
func asAnotherUser(t *testing.T) {
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
