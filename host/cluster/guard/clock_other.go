//go:build !linux

package guard

import "time"

// Now is the wall clock, as a duration. It moves if somebody sets that clock: a pair in earnest runs on
// Linux.
func Now() time.Duration { return time.Duration(time.Now().UnixNano()) }
