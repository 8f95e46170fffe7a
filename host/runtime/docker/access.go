package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
)

// user returns the user and group that containers run as, in the container's
// numbering. On a rootless engine, root in the container is the engine's user
// on the host, and every other user would have no access to the group's
// directories.
func (e *Engine) user() (uid, gid int) {
	if e.facts.Rootless {
		return 0, 0
	}
	return groups.AgentUserOf(e.self())
}

// onHost returns the same user in the host's numbering, for a host that runs as
// the given user.
func (e *Engine) onHost(uid, gid int) (int, int) {
	if e.facts.Rootless {
		return uid, gid
	}
	return groups.AgentUserOf(uid, gid)
}

// Owner is the containers' user in the host's numbering.
func (e *Engine) Owner() (uid, gid int) { return e.onHost(e.self()) }

// self is the user for whom the engine is: the host's, or the account on the engine's machine.
func (e *Engine) self() (uid, gid int) {
	if e.link != nil {
		return e.uid, e.gid
	}
	return os.Geteuid(), os.Getegid()
}

// Access checks that a container can use its mounts as intended, and that no
// mount contains an engine's socket. The error lists every mount that is wrong,
// each with its remedy, and is permanent until the operator acts.
func (e *Engine) Access(mounts []mounts.Mount) error {
	return e.access(os.Geteuid(), os.Getegid(), mounts)
}

// AccessOf is Access for the host that works on a state directory. That host
// may run as another user than the caller: it runs as the directory's owner.
func (e *Engine) AccessOf(state string, mounts []mounts.Mount) error {
	if info, err := os.Stat(state); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return e.access(int(stat.Uid), int(stat.Gid), mounts)
		}
	}
	return e.Access(mounts)
}

func (e *Engine) access(uid, gid int, mounts []mounts.Mount) error {
	var errs []error
	if e.facts.Rootless && uid == 0 {
		errs = append(errs, errors.New("the engine runs as a user but the host runs as root; run longshore as the engine's user"))
	}
	uid, gid = e.onHost(uid, gid)
	for _, m := range mounts {
		if m.Shadow {
			if _, err := os.Lstat(m.Hides); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("mount %s: what it hides cannot be looked at: %w; let the host's user look there", m.Container, err))
			}
			continue
		}
		info, err := os.Stat(m.Host)
		if err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w; put the directory back", m.Container, err))
			continue
		}
		if i := slices.IndexFunc(e.sockets, func(socket string) bool { return socket != "" && holds(m.Host, socket) }); i >= 0 {
			errs = append(errs, fmt.Errorf("mount %s: %s holds %s, the socket of a container engine, with which a container could take over this machine; mount a smaller directory",
				m.Container, m.Host, e.sockets[i]))
		}
		want, need := uint32(0o5), "read"
		if !m.ReadOnly {
			want, need = 0o7, "write"
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !allowed(stat, uint32(uid), uint32(gid), want) {
			errs = append(errs, fmt.Errorf("mount %s: the assistant runs as user %d, who may not %s %s; run: %s",
				m.Container, uid, need, m.Host, remedy(m, stat, uid, gid)))
		}
	}
	return errors.Join(errs...)
}

// remedy returns the command that gives the user the access that the mount
// needs. It sets the bits that the kernel checks: the owner's, else the
// group's, else everybody's. A command that only root may run begins with sudo,
// unless the caller is root.
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

// allowed reports whether the mode bits give an unprivileged user the wanted
// access. It ignores access control lists.
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

// holds reports whether path is dir or lies below it, after links are resolved.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolved returns path without links. If path does not exist, the links of its
// directory are resolved; if that does not exist either, path is returned
// unchanged.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(real, filepath.Base(path))
	}
	return path
}
