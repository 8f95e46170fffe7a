//go:build !linux

package containertest

import (
	"errors"
	"os"
	"path/filepath"
)

// daemon does not exist here: Linux containers need Linux.
type daemon struct{}

func startDaemon() (*daemon, error) {
	return nil, errors.New("none answers, and only Linux can start one")
}
func (*daemon) getenv(name string) string { return os.Getenv(name) }
func (*daemon) stop()                     {}

func cacheDir() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(user, "longshore-test")
	return dir, os.MkdirAll(dir, 0o755)
}

// lockFile locks nothing: only Linux starts engines here.
func lockFile(string) (*os.File, error) { return nil, errors.New("a Debian is made on Linux only") }
