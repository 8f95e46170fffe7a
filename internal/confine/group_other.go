//go:build unix && !linux

package confine

import "syscall"

func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
