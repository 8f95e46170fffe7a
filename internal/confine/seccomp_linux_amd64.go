package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// forbiddenHere lists older forms of forbidden calls, which newer processors
// lack.
func forbiddenHere() []uint32 {
	return []uint32{
		unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CREAT, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
		unix.SYS_INOTIFY_INIT, unix.SYS_MODIFY_LDT,
	}
}

// openHere returns open(2) and the index of its flags.
func openHere() (call, arg uint32, ok bool) { return unix.SYS_OPEN, 1, true }
