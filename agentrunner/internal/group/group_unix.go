//go:build unix

// Package group ends a program together with the programs that it has started.
package group

import (
	"os/exec"
	"syscall"
)

// Own makes a program that is not started yet the first of a process group of its own.
func Own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Stop sends SIGTERM to the whole group, as a CLI's shells and servers do not
// always pass on a signal.
func Stop(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// Kill kills the rest of the group. The group's id is not reused while a
// process of the group exists.
func Kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
