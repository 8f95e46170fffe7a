//go:build !linux

package doctor

import "math"

func clockSynchronized() (synced, known bool) { return false, false }

// HostWithout knows no process here.
func HostWithout(string, string, string) int { return 0 }

// OwnOf knows no process here.
func OwnOf(string, string) string { return "" }

func limits() (files, size uint64) { return math.MaxUint64, math.MaxUint64 }
