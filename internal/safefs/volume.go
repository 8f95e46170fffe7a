package safefs

import (
	"os"
	"path/filepath"
)

// Volume describes a file system.
type Volume struct {
	Name        string // for people: "ext4", "NFS"
	Network     bool
	Volatile    bool   // lost when the machine restarts
	Free, Total uint64 // bytes; space that only root may use does not count as free
	Inodes      uint64 // 0 if the file system does not count them
	InodesFree  uint64
}

// VolumeOf describes the file system of path. If path does not exist, it
// describes that of the nearest existing directory above.
func VolumeOf(path string) (Volume, error) {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return volumeOf(path)
		}
		path = filepath.Dir(path)
	}
}

// SameVolume reports whether two existing paths lie on the same file system.
func SameVolume(a, b string) bool {
	one, ok := IdentityOf(a)
	two, ok2 := IdentityOf(b)
	return ok && ok2 && one.dev == two.dev
}
