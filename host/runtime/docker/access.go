package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
)

// user is the user and group that containers run as, as the container counts
// them. On an engine that runs as a user, root in the container is that user,
// and any other would be a stranger to the group's directories.
func (e *Engine) user() (uid, gid int) {
	if e.facts.Rootless {
		return 0, 0
	}
	return groups.AgentUser()
}

// onHost is the same user as the host counts, for a host of the given user.
func (e *Engine) onHost(uid, gid int) (int, int) {
	if e.facts.Rootless {
		return uid, gid
	}
	return groups.AgentUserOf(uid, gid)
}

// Access checks that a container will be able to use its mounts as they are
// meant, and that none of them gives it the engine. The error names every
// mount that is wrong, with what to do.
func (e *Engine) Access(mounts []mounts.Mount) error {
	return e.access(os.Geteuid(), os.Getegid(), mounts)
}

// AccessOf is Access for the host on a state directory, which need not run as
// whoever asks: it runs as the directory's owner.
func (e *Engine) AccessOf(state string, mounts []mounts.Mount) error {
	info, err := os.Stat(state)
	if err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return e.access(int(stat.Uid), int(stat.Gid), mounts)
		}
	}
	return e.Access(mounts)
}

func (e *Engine) access(uid, gid int, mounts []mounts.Mount) error {
	var errs []error
	if e.facts.Rootless && uid == 0 {
		errs = append(errs, errors.New("the engine runs as a user and the host as root; run longshore as that user"))
	}
	uid, gid = e.onHost(uid, gid)
	for _, m := range mounts {
		if m.Shadow {
			continue
		}
		info, err := os.Stat(m.Host)
		if err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w; put the directory back", m.Container, err))
			continue
		}
		if i := slices.IndexFunc(e.sockets, func(socket string) bool { return socket != "" && holds(m.Host, socket) }); i >= 0 {
			errs = append(errs, fmt.Errorf("mount %s: %s holds %s, a container engine's socket, by which a container could take over this machine; mount a smaller directory",
				m.Container, m.Host, e.sockets[i]))
		}
		want, need := uint32(0o5), "read"
		if !m.ReadOnly {
			want, need = 0o7, "write"
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !allowed(stat, uint32(uid), uint32(gid), want) {
			errs = append(errs, fmt.Errorf("mount %s: user %d, as whom the assistant runs, may not %s %s; run: %s",
				m.Container, uid, need, m.Host, remedy(m, stat, uid, gid)))
		}
	}
	return errors.Join(errs...)
}

// remedy is the command after which the user may do what the mount is for: the
// bits are given to whom the kernel looks at, the owner before the group
// before all others. What only root may run begins with sudo, unless root asks.
func remedy(m mounts.Mount, stat *syscall.Stat_t, uid, gid int) string {
	sudo := func(needed bool) string {
		if needed && os.Geteuid() != 0 {
			return "sudo "
		}
		return ""
	}
	path := "'" + strings.ReplaceAll(m.Host, "'", `'\''`) + "'"
	bits := "rx"
	if !m.ReadOnly {
		bits = "rwx"
	}
	mine := sudo(int(stat.Uid) != os.Geteuid())
	switch {
	case int(stat.Uid) == uid:
		return fmt.Sprintf("%schmod u+%s %s", mine, bits, path)
	case m.ReadOnly && int(stat.Gid) == gid:
		return fmt.Sprintf("%schmod g+rx %s", mine, path)
	case m.ReadOnly:
		return fmt.Sprintf("%schmod o+rx %s", mine, path)
	}
	give := fmt.Sprintf("%schown -R %d:%d %s", sudo(true), uid, gid, path)
	if stat.Mode&0o700 != 0o700 {
		give += fmt.Sprintf(" && %schmod u+rwx %s", sudo(uid != os.Geteuid()), path)
	}
	return give
}

// allowed says whether the mode bits give a user without privileges what it
// wants. Access control lists are not looked at.
func allowed(stat *syscall.Stat_t, uid, gid, want uint32) bool {
	bits := uint32(stat.Mode) // Darwin has 16 of them
	switch {
	case stat.Uid == uid:
		bits >>= 6
	case stat.Gid == gid:
		bits >>= 3
	}
	return bits&want == want
}

// holds says whether path lies at or below dir, links resolved.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolved is path without links. It need not exist; where what it lies in does
// not either, it stays as it is.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(real, filepath.Base(path))
	}
	return path
}
