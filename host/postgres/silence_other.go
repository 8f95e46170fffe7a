//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// silence leaves it to the system how long a peer may be silent.
func silence(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
