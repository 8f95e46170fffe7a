//go:build !linux

package safefs

import (
	"errors"
	"syscall"
)

// volumeOf is not implemented on this system.
func volumeOf(string) (Volume, error) {
	return Volume{}, errors.New("not known on this system")
}

// SyncVolume makes all that was written durable. This system does not say whether that
// worked.
func SyncVolume(string) error {
	syscall.Sync()
	return nil
}
