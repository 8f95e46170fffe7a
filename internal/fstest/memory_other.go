//go:build !linux

package fstest

// Memory does something on Linux only.
func Memory() {}
