package safefs

import (
	"os"
	"path/filepath"
)

// Volume is what is known of a file system.
type Volume struct {
	Name        string // for people: "ext4", "NFS"
	Network     bool
	Volatile    bool   // lost when the machine restarts
	Free, Total uint64 // bytes; what only root may use is not free
	Inodes      uint64 // 0 if the file system does not count them
	InodesFree  uint64
}

// VolumeOf is the file system on which path lies, or would lie: if path does
// not exist, the nearest directory above it counts.
func VolumeOf(path string) (Volume, error) {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return volumeOf(path)
		}
		path = filepath.Dir(path)
	}
}
