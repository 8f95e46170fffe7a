package operator

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// ReasonSuffix is what the errors folder adds to a request's name for the
// file that says why it lies there.
const ReasonSuffix = ".reason.json"

// maxNames is how many names of a directory that an assistant writes are
// counted: it may hold any number.
const maxNames = 10_000

// CountJSON counts the names in a directory that end in suffix and are not
// dotted, up to maxNames.
func CountJSON(dir, suffix string) (int, error) {
	// Nothing but a directory: a pipe in its place would be waited for.
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	n := 0
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && name[0] != '.' {
			n++
		}
	}
	return n, nil
}
