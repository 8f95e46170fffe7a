package safefs

import (
	"io/fs"
	"os"
	"syscall"
)

// Identity distinguishes two files as long as neither is deleted.
type Identity struct{ dev, ino uint64 }

func IdentityOf(path string) (Identity, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return Identity{}, false
	}
	return Identify(info)
}

func Identify(info fs.FileInfo) (Identity, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{uint64(stat.Dev), stat.Ino}, true //nolint:unconvert // narrower elsewhere
}
