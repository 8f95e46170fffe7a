package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// openIn opens rel below h. It does not follow a link at the end, but returns
// it.
//
// The name is looked up once, for a descriptor without rights (O_PATH); opening
// that has no effect on a pipe or device. The file is examined through the
// descriptor, and the same inode is then opened through /proc/self/fd. So there
// is no second look-up that a rename could lead elsewhere.
func (r *root) openIn(h *dirHandle, rel, clean string) (*os.File, *link, error) {
	hidden := r.hiddenFiles() // first, as a hidden file could be moved away meanwhile
	parent, handle, err := r.look(h, rel)
	if err != nil {
		return nil, nil, openError(err, clean)
	}
	defer func() { _ = handle.Close() }()
	if parent != nil {
		defer func() { _ = parent.Close() }()
	}
	found, err := factsOf(handle)
	if err != nil {
		return nil, nil, fmt.Errorf("examine %q: %w", clean, safefs.Reason(err))
	}
	if found.mode&fs.ModeSymlink != 0 {
		to, err := readLink(h, handle)
		return nil, to, err
	}
	if err := h.check(found); err != nil {
		return nil, nil, err
	}
	if parent != nil {
		if err := r.checkHidden(h, parent, handle, hidden); err != nil {
			return nil, nil, err
		}
	}
	file, err := reopen(handle, clean)
	if err != nil {
		return nil, nil, openError(err, clean)
	}
	return file, nil, nil
}

// look opens rel to examine it. If something below the root is hidden, it also
// returns the directory in which rel was found.
func (r *root) look(h *dirHandle, rel string) (parent, handle *os.File, err error) {
	if len(r.inner) == 0 {
		handle, err = h.dir.OpenFile(rel, unix.O_PATH, 0)
		return nil, handle, err
	}
	parent, err = h.dir.OpenFile(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd, err := safefs.OpenAt(int(parent.Fd()), path.Base(rel), unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		_ = parent.Close()
		return nil, nil, err
	}
	return parent, os.NewFile(uintptr(fd), rel), nil
}

// checkHidden refuses a file that is hidden or in a hidden directory. The path
// may have used links inside the root, or another spelling of a name.
func (r *root) checkHidden(h *dirHandle, parent, handle *os.File, hidden []safefs.Identity) error {
	real, err := h.realPath(handle)
	if err != nil {
		return err
	}
	info, err := handle.Stat()
	if err != nil {
		return fmt.Errorf("examine the file: %w", safefs.Reason(err))
	}
	id, _ := safefs.Identify(info)
	if r.shadowed(path.Join(r.mount.Container, real)) || slices.Contains(hidden, id) {
		return shadowed("")
	}
	return h.climb(parent, hidden)
}

// maxClimb is deeper than any path without links can be.
const maxClimb = maxPath / 2

// climb walks up from dir to h, and refuses a hidden directory on the way.
func (h *dirHandle) climb(dir *os.File, hidden []safefs.Identity) error {
	at := dir
	defer func() {
		if at != dir {
			_ = at.Close()
		}
	}()
	for range maxClimb {
		info, err := at.Stat()
		if err != nil {
			return fmt.Errorf("examine a directory: %w", safefs.Reason(err))
		}
		id, _ := safefs.Identify(info)
		switch {
		case slices.Contains(hidden, id):
			return shadowed("")
		case id == h.id:
			return nil
		}
		fd, err := safefs.OpenAt(int(at.Fd()), "..", unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return fmt.Errorf("open the directory above: %w", err)
		}
		if at != dir {
			_ = at.Close()
		}
		at = os.NewFile(uintptr(fd), "..")
	}
	return fileMissing() // it was moved out of the root meanwhile
}

// reopen opens the inode of handle for reading. With O_NONBLOCK, a lease on the
// file is an error; without it, the open would wait up to 45 s for the lease's
// holder.
func reopen(handle *os.File, name string) (*os.File, error) {
	for {
		fd, err := unix.Open(procPath(handle), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

func readLink(h *dirHandle, handle *os.File) (*link, error) {
	target := make([]byte, maxPath)
	n, err := unix.Readlinkat(int(handle.Fd()), "", target)
	if err != nil {
		return nil, fmt.Errorf("read link: %w", err)
	}
	real, err := h.realPath(handle)
	if err != nil {
		return nil, err
	}
	return &link{dir: path.Dir(real), target: string(target[:n])}, nil
}

// realPath returns the open file's path below h, free of links.
func (h *dirHandle) realPath(handle *os.File) (string, error) {
	full, err := pathOf(handle)
	if err != nil {
		return "", err
	}
	rest, inside := safefs.Below(h.base, full)
	if !inside {
		now, err := h.path() // the directory was moved, or the file
		if err != nil {
			return "", err
		}
		rest, inside = safefs.Below(now, full)
	}
	if !inside || strings.HasSuffix(full, " (deleted)") {
		return "", fileMissing() // moved away or deleted meanwhile
	}
	return rest, nil
}

// path returns the path that h has now.
func (h *dirHandle) path() (string, error) {
	self, err := h.dir.Open(".")
	if err != nil {
		return "", fmt.Errorf("open directory: %w", safefs.Reason(err))
	}
	defer func() { _ = self.Close() }()
	return pathOf(self)
}

// pathOf returns the path that an open file has now.
func pathOf(f *os.File) (string, error) {
	path, err := os.Readlink(procPath(f))
	if err != nil {
		return "", fmt.Errorf("read a file's name: %w", safefs.Reason(err))
	}
	return path, nil
}

// ownPath is realPath of the file that was opened at rel, which may be nil. What has no
// directory on its way and is no link itself is where it was asked for.
func (h *dirHandle) ownPath(rel string, file *os.File) (string, error) {
	switch {
	case file == nil:
		return "", fileMissing()
	case !strings.Contains(rel, "/"):
		return rel, nil
	}
	return h.realPath(file)
}

func procPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// factsOf examines an open file, even one opened with O_PATH.
func factsOf(f *os.File) (facts, error) {
	var st unix.Statx_t
	const want = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, want, &st); err != nil {
		return facts{}, fmt.Errorf("statx: %w", err)
	}
	return facts{
		mode:  fileType(st.Mode),
		links: uint64(st.Nlink),
		mount: mountID{
			dev:     unix.Mkdev(st.Dev_major, st.Dev_minor),
			mount:   st.Mnt_id,
			mounted: st.Mask&unix.STATX_MNT_ID != 0, // since Linux 5.8
		},
	}, nil
}

func fileType(mode uint16) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR, unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
