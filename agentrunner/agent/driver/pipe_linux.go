package driver

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the largest size, in bytes, that a user may set without privileges.
const pipeSize = 1 << 20

// widen enlarges a pipe for a long answer. gemini-cli and opencode exit without
// waiting until everything is read. With the usual 64 KiB, the end of a longer
// answer was lost, and with it the event that reports success. If the kernel
// refuses, the pipe keeps its size.
func widen(pipe *os.File) { _, _ = unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, pipeSize) }
