package operator

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// ReasonSuffix ends the name of the file in the errors folder that says why a
// request was refused.
const ReasonSuffix = ".reason.json"

// maxNames is how many names are counted in a directory that an assistant can
// write; there may be any number.
const maxNames = 10_000

// CountJSON counts the names in a directory that end in suffix and have no dot
// at the start, up to maxNames.
func CountJSON(dir, suffix string) (n int, err error) {
	err = eachJSON(dir, suffix, func(*os.File, string) { n++ })
	return n, err
}

// eachJSON calls do for the names that CountJSON counts.
func eachJSON(dir, suffix string, do func(dir *os.File, name string)) error {
	// O_DIRECTORY keeps the open from blocking on a pipe in the directory's
	// place.
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && name[0] != '.' {
			do(f, name)
		}
	}
	return nil
}
