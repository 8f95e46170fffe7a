//go:build unix

package mounts

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// openPortable opens rel below h on systems that cannot reopen a descriptor.
// os.Root follows links below the root, but no link is followed if something in
// the root is hidden. The file is examined, opened without waiting for the
// other end of a pipe, and examined again; it must be the same file.
//
// Unlike on Linux, a device that replaces the file in between is opened before
// it is refused, and an absolute link is always refused.
func (r *root) openPortable(h *dirHandle, rel, clean string) (*os.File, error) {
	if len(r.inner) > 0 {
		if err := refuseHidden(h.dir, rel, clean, r.hiddenFiles()); err != nil {
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
		err = &refusal.Error{Code: CodeFileBusy, Message: "the file was replaced while it was being opened", Hint: "send it again when it is finished"}
	} else {
		err = fmt.Errorf("examine %q: %w", clean, safefs.Reason(err))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// refuseHidden refuses rel if one of its components is hidden, or is a link,
// which could lead to something hidden.
func refuseHidden(dir *os.Root, rel, clean string, hidden []safefs.Identity) error {
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
		if id, ok := safefs.Identify(info); ok && slices.Contains(hidden, id) {
			return shadowed("")
		}
	}
	return nil
}

func factsOfInfo(info fs.FileInfo) facts {
	f := facts{mode: info.Mode().Type()}
	f.links = linksOf(info)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.mount = mountID{dev: uint64(st.Dev)} //nolint:unconvert // narrower elsewhere
	}
	return f
}

// linksOf returns how many names a file has; 0 if the system does not say.
func linksOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // narrower elsewhere
	}
	return 0
}
