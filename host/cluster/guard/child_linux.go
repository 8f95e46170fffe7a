package guard

import "syscall"

// attributes make the kernel kill the child when the guard's thread ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
