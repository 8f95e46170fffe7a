package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// forbiddenHere is empty: this processor only has the newer forms of calls.
func forbiddenHere() []uint32 { return nil }

// openHere returns nothing: this processor only has openat(2).
func openHere() (call, arg uint32, ok bool) { return 0, 0, false }
