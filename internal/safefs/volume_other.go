//go:build !linux

package safefs

import (
	"errors"
	"syscall"
)

// volumeOf always says that it does not know: only Linux is asked for the type of a file system.
func volumeOf(string) (Volume, error) {
	return Volume{}, errors.New("not known on this system")
}

// SyncVolume makes all that was written durable. This system does not say whether that
// worked.
func SyncVolume(string) error {
	syscall.Sync()
	return nil
}
