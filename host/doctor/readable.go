package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// maxUnreadable is how many files one check reports.
const maxUnreadable = 20

// readable finds what the host opens at its start and may not: every file and directory of the
// state, two levels deep. Deeper ones are the queues', and bytes that are opened one by one.
func (d Doctor) readable(context.Context, hosting) (all []Finding) {
	own := d.Layout.Own()
	for _, root := range []string{own, d.Layout.Groups()} {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // every error is reported, or is that of a missing state
			if err != nil || e.Name() == "lost+found" || len(all) >= maxUnreadable {
				return skip(e)
			}
			if !e.IsDir() && !e.Type().IsRegular() {
				return nil
			}
			if err := safefs.Readable(path, e.IsDir()); err != nil && !os.IsNotExist(err) && (root == own || path != root) {
				all = append(all, unusable(d.rel(path), path, err)...)
				return skip(e)
			}
			if rel, err := filepath.Rel(root, path); err == nil && strings.ContainsRune(rel, filepath.Separator) {
				return skip(e)
			}
			return nil
		})
	}
	return all
}

func skip(e fs.DirEntry) error {
	if e != nil && e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// unusable is a file or directory that the host may not open.
func unusable(name, path string, err error) []Finding {
	return found("state", Fault, fmt.Sprintf("%s cannot be used: %v", name, reason(err)),
		fmt.Sprintf("chmod u+rwX %s, or run the doctor as the user that the host runs as", path))
}
