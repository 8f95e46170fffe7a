//go:build unix

package confine

import (
	"os/exec"
	"syscall"
)

// killGroup ends what the program started in its process group, and then the
// program, which may have left that group.
func killGroup(cmd *exec.Cmd) error {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return cmd.Process.Kill()
}
