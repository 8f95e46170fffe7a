//go:build unix && !linux

package runtime

import (
	"os/exec"
	"syscall"
)

// childAttributes puts the child into a process group of its own, which
// signals reach as a whole.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// keepDescriptors does nothing: there is no call for it here.
func keepDescriptors() {}

// reap collects the child, then kills what is left of its group.
func reap(cmd *exec.Cmd, killAll func()) error {
	err := cmd.Wait()
	killAll()
	return err
}

// killMarked does nothing: another process's environment cannot be read here.
func killMarked(...string) {}
