//go:build unix

package sender

import (
	"io/fs"
	"syscall"
)

// links returns how many names a file has. The host refuses a file with several
// names, since one of them may be outside the container.
func links(stat fs.FileInfo) uint64 {
	if s, ok := stat.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// mayWrite asks the system and does not write, because a write would wake the host.
func mayWrite(dir string) error {
	const write = 2 // W_OK
	return syscall.Access(dir, write)
}
