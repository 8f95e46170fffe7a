//go:build !linux

package guard

import "syscall"

// attributes of the child. It learns of the guard's death by its pipe.
func attributes() *syscall.SysProcAttr { return nil }
