package operator

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peerAllowed says whether the process at the other end of a connection is
// root's or our own user's. The mode of the socket says the same; this holds
// also while the mode is not set yet, and where the state directory was opened
// to others.
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
