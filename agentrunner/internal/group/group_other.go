//go:build !unix

package group

import "os/exec"

func Own(*exec.Cmd) {}

func Stop(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
