package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// maxLinks is how many links at the end of a path are followed in a row.
const maxLinks = 8

// mountID identifies the host's mount that a file is on. The device number alone
// does not: a directory that is bound over another one has the same number, and
// the files of an overlay have different ones.
type mountID struct {
	dev     uint64
	mount   uint64
	mounted bool // mount is known
}

func (m mountID) same(other mountID) bool {
	if m.mounted && other.mounted {
		return m.mount == other.mount
	}
	return m.dev == other.dev
}

// facts is what is known of a file before it is read.
type facts struct {
	mode  fs.FileMode
	links uint64
	mount mountID
}

// link is a symbolic link at the end of a path.
type link struct {
	dir    string // its directory below the root, free of links
	target string
}

// Open opens the file at a container path for reading. It follows links as the
// container would: relative links below a mounted directory and, at the end of
// the path, links to another container path. All other links are refused. If
// the agent can act on an error, it is a *refusal.Error and permanent; every
// other error is temporary (too many open files, a failing disk). The caller
// closes the File.
func (m *Map) Open(p string) (*File, error) {
	return m.open(p, func(string, string, ...any) {})
}

// open is Open, and calls note for each successful step, with a format for words for
// the operator: a call without an Explain makes no words.
func (m *Map) open(p string, note func(step, format string, args ...any)) (*File, error) {
	clean, err := cleanPath(p)
	if err != nil {
		return nil, err
	}
	note("path", "%q is well formed", clean)
	var names []string
	for hops := 0; hops <= maxLinks; hops++ {
		r, rel, err := m.find(clean)
		if err != nil {
			return nil, throughLink(hops, err)
		}
		note("mount", "%s is %q on the host, %s", r.mount.Container, r.mount.Host, access(r.mount))
		var file *os.File
		var to *link
		err = r.use(func(h *dirHandle) error {
			if other := safefs.Spelled(rel, h.isThere); other != rel {
				rel, clean = other, path.Join(r.mount.Container, other)
			}
			file, to, err = r.openIn(h, rel, clean)
			names = append(names, h.names(r.mount.Container, rel, file)...)
			return err
		})
		if r := refusal.Of(err); r != nil && r.Code == CodeFileMissing {
			r.Hint += m.hint()
		}
		if err != nil {
			return nil, err
		}
		if to == nil {
			return m.finish(file, r.mount, clean, names, note)
		}
		note("link", "%q is a link to %q", clean, to.target)
		if clean, err = to.follow(r.mount.Container); err != nil {
			return nil, err
		}
	}
	return nil, escapes("the path leads through more than 8 links in a row")
}

// isThere reports whether h has something at rel. It follows no link that leads out.
func (h *dirHandle) isThere(rel string) bool {
	_, err := h.dir.Lstat(rel)
	return err == nil
}

// finish makes a File from an opened file.
func (m *Map) finish(file *os.File, mount Mount, clean string, names []string, note func(step, format string, args ...any)) (*File, error) {
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("examine %q: %w", clean, safefs.Reason(err))
	}
	note("file", "a regular file with one name, on the mount's own file system, readable")
	if info.Size() == 0 {
		_ = file.Close()
		return nil, &refusal.Error{Code: CodeFileEmpty, Message: "the file is empty", Hint: "write the file and close it before sending it"}
	}
	note("size", "%d bytes", info.Size())
	return &File{File: file, Info: info, Path: clean, Mount: mount, Names: names}, nil
}

// follow returns the container path that the link leads to. The link's
// directory is free of links, so a ".." at the start of the target is safe. A
// ".." further inside could follow a link, and is refused.
func (l *link) follow(container string) (string, error) {
	target := l.target
	if !strings.HasPrefix(target, "/") {
		base := path.Join(container, l.dir)
		for target == ".." || strings.HasPrefix(target, "../") {
			base = path.Dir(base)
			target = strings.TrimLeft(strings.TrimPrefix(target, ".."), "/")
		}
		target = strings.TrimSuffix(base, "/") + "/" + target
	}
	clean, err := cleanPath(target)
	return clean, throughLink(1, err)
}

// throughLink turns the refusal of a path into a refusal of the link that leads
// there.
func throughLink(hops int, err error) error {
	r := refusal.Of(err)
	if hops == 0 || r == nil {
		return err
	}
	switch r.Code {
	case CodeNotMounted, CodeBadPath, CodePathEscapes:
		return escapes("the path is a link out of what the container shares with the host")
	}
	return err
}

// check refuses everything except a plain file on the mount's own file system.
func (h *dirHandle) check(f facts) error {
	switch {
	case f.mode&fs.ModeType != 0:
		return notAFile(kindOf(f.mode))
	case !h.mount.same(f.mount):
		return &refusal.Error{
			Code:    CodeOtherDevice,
			Message: "the file is on another file system, mounted inside the shared directory",
			Hint:    "copy the file to /workspace/group and send the copy",
		}
	case f.links == 0:
		return fileMissing()
	case f.links > 1:
		// The second name may belong to a file that the container cannot see;
		// the inode does not show that.
		return &refusal.Error{
			Code:    CodeHardLink,
			Message: "the file has more than one name (a hard link)",
			Hint:    "send a copy of it (cp); the send_file tool makes one by itself",
		}
	}
	return nil
}

// openError turns a system error into a refusal if the agent can act on it.
func openError(err error, clean string) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fileMissing()
	case errors.Is(err, fs.ErrPermission):
		return &refusal.Error{
			Code:    CodeUnreadable,
			Message: "the host has no permission to read the file",
			Hint:    "make it readable with chmod 644, and the directories on the way with chmod 755, then send it again",
		}
	case errors.Is(err, syscall.EAGAIN):
		return &refusal.Error{
			Code:    CodeFileBusy,
			Message: "another program holds a lease on the file",
			Hint:    "close the file everywhere, or send a copy of it",
		}
	case errors.Is(err, syscall.ENXIO):
		return notAFile("a pipe, socket or device")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return badPath("a name in the path is too long", "rename the file")
	case errors.Is(err, syscall.ELOOP), !errors.As(err, &errno): // os.Root's own errors are not system errors
		return escapes("a link in the path leads out of its mounted directory, or is absolute")
	}
	return fmt.Errorf("open %q: %w", clean, safefs.Reason(err))
}

func escapes(message string) *refusal.Error {
	return &refusal.Error{Code: CodePathEscapes, Message: message, Hint: "send the file itself, by the path that realpath prints, or a copy in /workspace/group"}
}

func fileMissing() *refusal.Error {
	return &refusal.Error{Code: CodeFileMissing, Message: "there is no such file", Hint: "check the path with ls -l; "}
}

func notAFile(what string) *refusal.Error {
	return &refusal.Error{Code: CodeNotAFile, Message: "the path names " + what + ", not a file", Hint: "send a regular file; pack a directory first, as with tar czf"}
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

func access(m Mount) string {
	if m.ReadOnly {
		return "read-only"
	}
	return "writable"
}
