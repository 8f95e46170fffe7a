//go:build unix

package confine

import (
	"os/exec"
	"syscall"
)

// killGroup kills the program's process group, and then the program itself,
// which may have left that group.
func killGroup(cmd *exec.Cmd) error {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return cmd.Process.Kill()
}
