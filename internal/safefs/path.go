package safefs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Below reports whether path is dir or is in dir, by name only; both are clean
// and absolute. rest is the path from dir to path, with slashes, "." for dir
// itself.
func Below(dir, path string) (rest string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// Reason returns a system error without its path.
func Reason(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return cause.Err
	}
	return err
}
