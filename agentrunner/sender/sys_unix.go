//go:build unix

package sender

import (
	"io/fs"
	"syscall"
)

// links is how many names a file has. The host refuses a file with several,
// since one of them may lie where the container cannot look.
func links(stat fs.FileInfo) uint64 {
	if s, ok := stat.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// mayWrite asks the system instead of writing: the host is woken by a write.
func mayWrite(dir string) error {
	const write = 2 // W_OK
	return syscall.Access(dir, write)
}
