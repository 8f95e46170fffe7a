//go:build !linux

package terminal

import "golang.org/x/sys/unix"

// The requests that read and change how a terminal behaves.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
