//go:build !linux

package operator

import "net"

// peerAllowed leaves it to the mode of the socket where the kernel does not
// tell the peer's user by SO_PEERCRED.
func peerAllowed(*net.UnixConn) bool { return true }
