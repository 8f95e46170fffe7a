//go:build unix

package mounts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// hidden is the part of a root that a row of the table below it covers: the
// container cannot see it, so the host does not open it.
//
// It is recognised by device and inode, under any name and through any link.
// Its name counts too, compared as leniently as any file system does: some file
// systems give one file two inode numbers, and a file that does not exist yet
// has none.
type hidden struct {
	row    Mount
	path   string // on the host
	folded string // its path in the container, see fold

	mu   sync.Mutex
	kept []*os.File // of a shadow: every file that has had the name. While they are open, no other file gets their inode numbers
}

// maxOpen is how many files are kept open for one shadow. A secret that an
// editor replaces uses up none of them, since deleted files are closed.
const maxOpen = 16

func newHidden(outer, row Mount) *hidden {
	x := &hidden{row: row, path: row.Hides, folded: fold(row.Container)}
	if !row.Shadow {
		x.path = filepath.Join(outer.Host, row.Container[len(outer.Container):])
	}
	return x
}

// files returns the files that have the name now and, for a shadow, those that
// had it before. Other rows may be in a directory that an assistant can write;
// what it has moved away from such a name was its own.
func (x *hidden) files() (all []safefs.Identity) {
	if info, err := os.Lstat(x.path); err == nil {
		all = appendIdentity(all, info)
	}
	if !x.row.Shadow {
		return all
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hold(safefs.LookFlags | unix.O_NOFOLLOW)
	x.hold(safefs.LookFlags) // the target of a link is hidden too
	for _, f := range x.kept {
		if info, err := f.Stat(); err == nil {
			all = appendIdentity(all, info)
		}
	}
	return all
}

func appendIdentity(all []safefs.Identity, info os.FileInfo) []safefs.Identity {
	if id, ok := safefs.Identify(info); ok {
		all = append(all, id)
	}
	return all
}

// hold keeps the file that has the name now open, and closes deleted ones. It
// is called with x.mu held.
func (x *hidden) hold(flags int) {
	x.kept = slices.DeleteFunc(x.kept, func(f *os.File) bool {
		info, err := f.Stat()
		gone := err != nil || linksOf(info) == 0
		if gone {
			_ = f.Close()
		}
		return gone
	})
	fd, err := safefs.OpenAt(unix.AT_FDCWD, x.path, flags)
	if err != nil {
		return // not there, or a link that may not be followed
	}
	f := os.NewFile(uintptr(fd), x.path)
	info, err := f.Stat()
	known := slices.ContainsFunc(x.kept, func(h *os.File) bool {
		other, err := h.Stat()
		return err == nil && os.SameFile(info, other)
	})
	if err != nil || known {
		_ = f.Close()
		return
	}
	if x.kept = append(x.kept, f); len(x.kept) > maxOpen {
		_ = x.kept[0].Close()
		x.kept = x.kept[1:]
	}
}

func (x *hidden) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.kept {
		_ = f.Close()
	}
	x.kept = nil
}

// fold returns a path as the most lenient file systems compare it. Upper and
// lower case are equal, accents may be composed or not, and invisible
// characters do not count (HFS+, ext4 with casefold). Dots and spaces at a
// name's end do not count, nor does anything after a colon (Windows' rules,
// which a file server may apply).
func fold(p string) string {
	parts := strings.Split(norm.NFD.String(p), "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ":")
		part = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
				return -1
			}
			return unicode.ToLower(unicode.ToUpper(r)) // ſ and s, the Kelvin sign and k have one capital
		}, part)
		parts[i] = strings.TrimRight(part, " .")
	}
	return strings.Join(parts, "/")
}
