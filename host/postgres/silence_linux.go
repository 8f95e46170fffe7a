package postgres

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// silence ends a connection whose peer has acknowledged nothing for that long: tcp(7).
func silence(most time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) (err error) {
		if network == "unix" {
			return nil
		}
		failed := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(most.Milliseconds()))
		})
		if failed != nil {
			return failed
		}
		return err
	}
}
