package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
)

// User is the user and group that containers run as, as the container counts
// them. On an engine that runs as a user, root in the container is that user,
// and any other would be a stranger to the group's directories.
func (e *Engine) User() (uid, gid int) {
	if e.facts.Rootless {
		return 0, 0
	}
	return groups.AgentUser()
}

// onHost is the same user as the host counts.
func (e *Engine) onHost() (uid, gid int) {
	if e.facts.Rootless {
		return os.Geteuid(), os.Getegid()
	}
	return groups.AgentUser()
}

// Access checks that a container will be able to use its mounts as they are
// meant, and that none of them gives it the engine. The error names every
// mount that is wrong, with what to do.
func (e *Engine) Access(mounts []groups.Mount) error {
	var errs []error
	if e.facts.Rootless && os.Geteuid() == 0 {
		errs = append(errs, errors.New("the engine runs as a user and the host as root; run longshore as that user"))
	}
	uid, gid := e.onHost()
	for _, m := range mounts {
		if m.Shadow {
			continue
		}
		info, err := os.Stat(m.Host)
		if err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w; put the directory back", m.Container, err))
			continue
		}
		if socket := e.socket(); socket != "" && holds(m.Host, socket) {
			errs = append(errs, fmt.Errorf("mount %s: %s holds the container engine's socket, by which a container could take over this machine; mount a smaller directory", m.Container, m.Host))
		}
		want, need := uint32(0o5), "read"
		if !m.ReadOnly {
			want, need = 0o7, "write"
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !allowed(stat, uint32(uid), uint32(gid), want) {
			errs = append(errs, fmt.Errorf("mount %s: user %d, as whom the assistant runs, may not %s %s; run: %s",
				m.Container, uid, need, m.Host, remedy(m, uid, gid)))
		}
	}
	return errors.Join(errs...)
}

func remedy(m groups.Mount, uid, gid int) string {
	if m.ReadOnly {
		return fmt.Sprintf("chmod o+rx '%s'", m.Host)
	}
	return fmt.Sprintf("chown -R %d:%d '%s'", uid, gid, m.Host)
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
	for _, p := range []*string{&dir, &path} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
