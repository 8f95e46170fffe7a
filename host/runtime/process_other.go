//go:build unix && !linux

package runtime

import (
	"os/exec"
	"syscall"
)

// childAttributes puts the child into a process group of its own, so that
// signals reach the whole group.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// keepDescriptors does nothing: this system has no call for it.
func keepDescriptors() {}

// reap collects the child, then kills the rest of its group.
func reap(cmd *exec.Cmd, killAll func()) error {
	err := cmd.Wait()
	killAll()
	return err
}

// killMarked does nothing: this system does not show another process's
// environment.
func killMarked(...string) {}
