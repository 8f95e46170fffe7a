//go:build unix

package groups

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// openPortable opens rel below h where descriptors cannot be reopened. Links
// below the root are followed by os.Root, none where a shadow could lie behind
// it. The file is looked at, opened without waiting for a pipe's other end,
// and looked at again: it must be the same one.
//
// Compared with the Linux way, a device that takes the file's place in between
// is opened before it is refused, and an absolute link is always refused.
func (r *root) openPortable(h *heldDir, rel, clean string) (*os.File, error) {
	if len(r.inner) > 0 {
		if err := refuseLinks(h.dir, rel, clean); err != nil {
			return nil, err
		}
	}
	before, err := h.dir.Stat(rel)
	if err != nil {
		return nil, openError(err, clean)
	}
	if err := h.check(factsOfInfo(before)); err != nil {
		return nil, err
	}
	file, err := h.dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(err, clean)
	}
	after, err := file.Stat()
	if err == nil && os.SameFile(before, after) {
		err = h.check(factsOfInfo(after))
	} else if err == nil {
		err = &Error{Code: CodeFileBusy, Message: "the file was replaced while it was opened", Hint: "send it again when it is finished"}
	} else {
		err = fmt.Errorf("look at %q: %w", clean, bare(err))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// refuseLinks refuses rel when one of its components is a link.
func refuseLinks(dir *os.Root, rel, clean string) error {
	at := ""
	for part := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, part)
		info, err := dir.Lstat(at)
		if err != nil {
			return openError(err, clean)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return escapes("a link in the path might lead to what the container does not see")
		}
	}
	return nil
}

func factsOfInfo(info fs.FileInfo) facts {
	f := facts{mode: info.Mode().Type()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.links = uint64(st.Nlink)           //nolint:unconvert // narrower elsewhere
		f.place = place{dev: uint64(st.Dev)} //nolint:unconvert // narrower elsewhere
	}
	return f
}
