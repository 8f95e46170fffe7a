package operator

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peerAllowed reports whether the process at the other end of a connection
// belongs to root or to our own user. The socket's mode says the same, but
// peerAllowed also covers the moment before the mode is set, and a state
// directory that was opened to others.
func peerAllowed(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return false
	}
	return cred.Uid == 0 || int(cred.Uid) == os.Geteuid()
}
