//go:build unix && !linux

package safefs

import "golang.org/x/sys/unix"

// LookFlags open a file for reading, as these systems require: the host must be
// able to read each directory on the way. The open does not wait for the other
// end of a pipe.
const LookFlags = unix.O_RDONLY | unix.O_NONBLOCK

func openRealDir(path string) (int, error) { return walkRealDir(path) }

func immutable(string) bool { return false }

func born(int) int64 { return 0 }
