//go:build !linux

package fstest

// InMemory does nothing: only Linux has a file system in memory at a known place.
func InMemory() {}
