package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// blockedNames are names of files and directories that usually hold secrets;
// NanoClaw v1 blocks the same.
var blockedNames = []string{
	".ssh", ".gnupg", ".gpg", ".aws", ".azure", ".gcloud", ".kube", ".docker", "credentials", ".env",
	".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "private_key", ".secret",
}

// directories resolves the state and project directories.
func (c *checker) directories() {
	cfg := c.cfg
	cfg.State.Directory = c.real(c.directoryAt("state"), cfg.State.Directory)
	cfg.Project = c.real("project", cfg.Project)
	if cfg.State.Directory == "" || cfg.Project == "" {
		return
	}
	if holds(cfg.State.Directory, cfg.Project) && cfg.Style != "v1" {
		c.bad("project", "the project directory is the state directory or lies in it", "keep state in a directory of its own, such as state")
	}
	if cfg.Backup.Directory != "" {
		cfg.Backup.Directory = c.real("backup.directory", cfg.Backup.Directory)
		delete(c.written, "backup.directory") // no start depends on it
	}
	main := slices.ContainsFunc(cfg.Groups, func(g groups.Group) bool { return g.Main })
	if !main {
		return
	}
	home := c.env("HOME")
	if _, inside := safefs.Below(cfg.Project, filepath.Clean(cmp.Or(home, "/"))); inside {
		c.bad("project", "the main group would see the whole home directory", "set project: to a directory of its own, or move longshore.yaml into one")
	}
	if name := c.blocked(cfg.Project); name != "" {
		c.bad("project", fmt.Sprintf("%q is blocked in the path of what a container may see", name), "set project: to another directory")
	}
}

// directoryAt is where the directory of a key is written that may be a block.
func (c *checker) directoryAt(key string) string {
	if c.has(key + ".directory") {
		return key + ".directory"
	}
	return key
}

// database checks where the state's database is.
func (c *checker) database() {
	p := &c.cfg.State.Postgres
	const at = "state.postgres.from_file"
	if p.FromFile != "" && c.fileAt(at, &p.FromFile) {
		c.secretFiles[at] = p.FromFile
	}
}

// mounts checks the operator's allowlist and each group's extra mounts.
func (c *checker) mounts() {
	policy := &c.cfg.Mounts
	for i, pattern := range policy.Block {
		if _, err := filepath.Match(pattern, ""); err != nil {
			c.bad(fmt.Sprintf("mounts.block[%d]", i), forms["pattern"].message(pattern), forms["pattern"].hint)
		}
	}
	for i := range policy.Allow {
		key := fmt.Sprintf("mounts.allow[%d].path", i)
		policy.Allow[i].Path = c.real(key, policy.Allow[i].Path)
		delete(c.written, key) // it is not opened: the mounts below it are
	}
	for i := range c.cfg.Groups {
		names := make(map[string]bool)
		down := len(c.cfg.Down)
		for j := range c.cfg.Groups[i].Mounts {
			e, key := &c.cfg.Groups[i].Mounts[j], fmt.Sprintf("groups[%d].mounts[%d]", i, j)
			if names[e.Name] {
				c.bad(key+".name", fmt.Sprintf("the group has two mounts called %q", e.Name), "rename one")
			}
			names[e.Name] = true
			c.extra(key+".host", e)
		}
		if len(c.cfg.Down) > down { // the group is down, and nobody sees what is in these
			c.cfg.Groups[i].Mounts = slices.DeleteFunc(slices.Clone(c.cfg.Groups[i].Mounts), func(e groups.Extra) bool { return e.Host == "" })
		}
	}
}

// extra checks the directory of an extra mount, with links resolved. The Host of one that is missing or
// forbidden becomes empty.
func (c *checker) extra(key string, e *groups.Extra) {
	written, dir, down := c.expandHome(e.Host), e.Host, len(c.cfg.Down)
	defer func() {
		if len(c.cfg.Down) > down {
			e.Host = ""
			delete(c.written, key)
		}
	}()
	var err error
	if e.Host, err = c.resolve(key, dir); err != nil {
		c.down(key, err.Error(), cmp.Or(finding.Remedy(err, c.written[key]), "correct the path or the rights on it"))
		return
	}
	if err := safefs.Readable(e.Host, true); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		c.down(key, fmt.Sprintf("%q is no directory", e.Host), "make it or mount it, or correct the path")
		return
	} else if err != nil {
		c.down(key, fmt.Sprintf("%q cannot be read: %v", e.Host, safefs.Reason(err)), cmp.Or(finding.Remedy(err, e.Host), "correct the path or the rights on it"))
		return
	}
	name := cmp.Or(c.blocked(written), c.blocked(e.Host))
	allowed, write := c.allowed(e.Host)
	switch {
	case ofTheSystem(e.Host):
		c.deny(key, fmt.Sprintf("%q is the system's own, with the devices and sockets that rule this machine", e.Host), "mount a directory that holds what the group needs and nothing else")
	case c.cfg.State.Directory != "" && (holds(e.Host, c.cfg.State.Directory) || holds(c.cfg.State.Directory, e.Host)):
		c.deny(key, "the mount and the state directory overlap", "mount a directory elsewhere; a group's own workspace is mounted anyway")
	case c.cfg.State.Files.Directory != "" && (holds(e.Host, c.cfg.State.Files.Directory) || holds(c.cfg.State.Files.Directory, e.Host)):
		c.deny(key, "the mount and the directory of state.files overlap", "mount a directory elsewhere")
	case holds(e.Host, c.base):
		c.deny(key, "the mount holds longshore.yaml", "mount a directory that does not hold the configuration")
	case name != "":
		c.deny(key, fmt.Sprintf("%q is blocked in the path of a mount", name), "copy what the group needs to another directory")
	case !allowed:
		c.deny(key, fmt.Sprintf("%q is not in the allowlist", e.Host), "add it, or a directory above it, below mounts: allow:")
	case e.Write && !write:
		c.deny(strings.TrimSuffix(key, ".host")+".write", fmt.Sprintf("%q may only be mounted read-only", e.Host), "leave write: out, or set write: true on its entry below mounts: allow:")
	default:
		c.telling(key, e.Host)
	}
}

// allowed reports whether the operator lets groups mount dir, and write there.
func (c *checker) allowed(dir string) (read, write bool) {
	for _, a := range c.cfg.Mounts.Allow {
		if _, inside := safefs.Below(a.Path, dir); a.Path != "" && inside {
			read = true
			write = write || a.Write
		}
	}
	return read, write
}

// blocked returns the first part of path that is a blocked name; empty if none is.
func (c *checker) blocked(path string) string {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		for _, pattern := range slices.Concat(blockedNames, c.cfg.Mounts.Block) {
			if ok, _ := filepath.Match(strings.ToLower(pattern), strings.ToLower(part)); ok {
				return part
			}
		}
	}
	return ""
}

// real makes path absolute and resolves the links in as much of it as exists. It
// returns an empty path after a problem.
func (c *checker) real(key, path string) string {
	resolved, err := c.resolve(key, path)
	if err != nil {
		c.bad(key, err.Error(), "correct the path or the rights on it; a relative one starts at longshore.yaml")
	}
	return resolved
}

// resolve is real, and returns the problem.
func (c *checker) resolve(key, path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("the path is empty or holds a NUL")
	}
	c.written[key] = c.expandHome(path)
	resolved, err := evalExisting(c.written[key])
	if err != nil {
		return "", fmt.Errorf("%q cannot be resolved: %w", path, safefs.Reason(err))
	}
	return resolved, nil
}

func (c *checker) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.env("HOME") != "" {
		return filepath.Join(c.env("HOME"), rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(c.base, path)
	}
	return filepath.Clean(path)
}

// evalExisting resolves the links in as much of path as exists.
func evalExisting(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	parent := filepath.Dir(path)
	if !errors.Is(err, fs.ErrNotExist) || parent == path {
		return resolved, err
	}
	if _, err := os.Lstat(path); err == nil { // a link to nowhere might lead anywhere later
		return "", errors.New("it is a link to nothing")
	}
	resolved, err = evalExisting(parent)
	return filepath.Join(resolved, filepath.Base(path)), err
}
