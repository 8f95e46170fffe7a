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
