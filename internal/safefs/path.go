package safefs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Below says whether path is dir or lies in it, by their names: both are clean
// and absolute. rest is the slash-separated way from dir to path, "." for dir
// itself.
func Below(dir, path string) (rest string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// Reason is a system error without the path it came with.
func Reason(err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		return cause.Err
	}
	return err
}
