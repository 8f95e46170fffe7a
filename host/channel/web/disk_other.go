//go:build !linux && !darwin

package web

// freeDisk is not known here; a full disk shows when it is written to.
func freeDisk(string) (int64, bool) { return 0, false }
