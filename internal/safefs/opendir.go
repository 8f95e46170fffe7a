package safefs

import (
	"io/fs"
	"os"
)

// OpenRoot is os.OpenRoot without its wait: if a named pipe stands in place of the
// directory, it returns ENOTDIR at once. A link is followed.
func OpenRoot(path string) (*os.Root, error) { return os.OpenRoot(asDir(path)) }

// ReadDir is os.ReadDir without a wait, as OpenRoot is.
func ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(asDir(path)) }

// asDir spells path so that only a directory can be opened by it.
func asDir(path string) string { return path + string(os.PathSeparator) + "." }
