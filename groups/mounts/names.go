//go:build unix

package mounts

import (
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// names are the container's paths that rel leads through: rel itself, what each link on the way makes
// of it, and that of the open file, which may be nil, as far as the system says. They are for judging
// names: by the time of the answer, the links may be others.
func (h *dirHandle) names(container, rel string, file *os.File) (all []string) {
	own, err := h.ownPath(rel, file)
	known := err == nil
	for range maxLinks + 1 {
		all = append(all, path.Join(container, rel))
		if known && rel == own {
			return all
		}
		next, ok := h.throughFirst(rel)
		if !ok {
			break
		}
		rel = next
	}
	if known {
		all = append(all, path.Join(container, own))
	}
	return all
}

// throughFirst is rel with its first link replaced by what that leads to. ok is false if there is
// none, or if it leads out of h.
func (h *dirHandle) throughFirst(rel string) (next string, ok bool) {
	dir, err := h.dir.Open(".")
	if err != nil {
		return "", false
	}
	defer func() { _ = dir.Close() }()
	target := make([]byte, maxPath)
	for at := 0; ; {
		part, rest, more := strings.Cut(rel[at:], "/")
		if n, err := unix.Readlinkat(int(dir.Fd()), part, target); err == nil {
			to := string(target[:n])
			next = path.Join(path.Dir(rel[:at]+part), to, rest)
			return next, !path.IsAbs(to) && next != ".." && !strings.HasPrefix(next, "../")
		}
		if !more {
			return "", false
		}
		fd, err := safefs.OpenAt(int(dir.Fd()), part, safefs.LookFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err != nil {
			return "", false
		}
		_ = dir.Close()
		dir = os.NewFile(uintptr(fd), part)
		at += len(part) + 1
	}
}
