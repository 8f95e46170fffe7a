package driver

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is the most that a user may ask for without privileges.
const pipeSize = 1 << 20

// widen makes room in a pipe for a long answer: gemini-cli and opencode end
// without waiting for what they have not got rid of, and of an answer longer
// than the usual 64 KiB the end was lost and the event of its success with it.
// Where the kernel refuses, it stays as it is.
func widen(pipe *os.File) { _, _ = unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, pipeSize) }
