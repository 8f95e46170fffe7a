package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// forbiddenHere is empty: this processor has the newer forms of calls only.
func forbiddenHere() []uint32 { return nil }

// openHere: there is openat(2) alone.
func openHere() (call, arg uint32, ok bool) { return 0, 0, false }
