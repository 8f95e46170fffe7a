//go:build !linux

package store

// vfsName is empty: SQLite's own way to files.
const vfsName = ""

func registerVFS() error { return nil }
