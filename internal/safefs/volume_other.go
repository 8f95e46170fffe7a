//go:build !linux

package safefs

import "errors"

// volumeOf is not implemented on this system.
func volumeOf(string) (Volume, error) {
	return Volume{}, errors.New("not known on this system")
}
