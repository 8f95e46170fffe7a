package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/setting"
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
	cfg.State = c.real("state", cfg.State)
	cfg.Project = c.real("project", cfg.Project)
	if cfg.State == "" || cfg.Project == "" {
		return
	}
	if holds(cfg.State, cfg.Project) && cfg.Style != "v1" {
		c.bad("project", "the project directory is the state directory or lies in it", "keep state in a directory of its own, such as state")
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
		for j := range c.cfg.Groups[i].Mounts {
			e, key := &c.cfg.Groups[i].Mounts[j], fmt.Sprintf("groups[%d].mounts[%d]", i, j)
			if names[e.Name] {
				c.bad(key+".name", fmt.Sprintf("the group has two mounts called %q", e.Name), "rename one")
			}
			names[e.Name] = true
			c.extra(key+".host", e)
		}
	}
}

// extra checks the directory of an extra mount, with links resolved.
func (c *checker) extra(key string, e *groups.Extra) {
	written := c.expandHome(e.Host)
	if e.Host = c.real(key, e.Host); e.Host == "" {
		return
	}
	if info, err := os.Stat(e.Host); err != nil || !info.IsDir() {
		c.bad(key, fmt.Sprintf("%q is no directory", e.Host), "make it, or correct the path")
		return
	}
	name := cmp.Or(c.blocked(written), c.blocked(e.Host))
	allowed, write := c.allowed(e.Host)
	switch {
	case ofTheSystem(e.Host):
		c.bad(key, fmt.Sprintf("%q is the system's own, with the devices and sockets that rule this machine", e.Host), "mount a directory that holds what the group needs and nothing else")
	case c.cfg.State != "" && (holds(e.Host, c.cfg.State) || holds(c.cfg.State, e.Host)):
		c.bad(key, "the mount and the state directory overlap", "mount a directory elsewhere; a group's own workspace is mounted anyway")
	case holds(e.Host, c.base):
		c.bad(key, "the mount holds longshore.yaml", "mount a directory that does not hold the configuration")
	case name != "":
		c.bad(key, fmt.Sprintf("%q is blocked in the path of a mount", name), "copy what the group needs to another directory")
	case !allowed:
		c.bad(key, fmt.Sprintf("%q is not in the allowlist", e.Host), "add it, or a directory above it, below mounts: allow:")
	case e.Write && !write:
		c.bad(strings.TrimSuffix(key, ".host")+".write", fmt.Sprintf("%q may only be mounted read-only", e.Host), "leave write: out, or set write: true on its entry below mounts: allow:")
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
	if path == "" || strings.ContainsRune(path, 0) {
		c.bad(key, "the path is empty or holds a NUL", "write a path; a relative one starts at longshore.yaml")
		return ""
	}
	c.written[key] = c.expandHome(path)
	resolved, err := evalExisting(c.written[key])
	if err != nil {
		c.bad(key, fmt.Sprintf("%q cannot be resolved: %v", path, safefs.Reason(err)), "correct the path or the rights on it")
		return ""
	}
	return resolved
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

var envReference = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// expand replaces a value that is ${NAME} as a whole. An unset variable is not an
// error of the file: the service's environment may have it.
func (c *checker) expand(key string, value Secret) Secret {
	match := envReference.FindStringSubmatch(value.Reveal())
	if match == nil {
		if strings.Contains(value.Reveal(), "${") {
			c.bad(key, "${ stands inside a longer value", "only a whole value can come from the environment: ${NAME} and nothing else")
		}
		return value
	}
	found := c.env(match[1])
	if found == "" {
		c.unset(key, match[1])
		return setting.UnsetSecret()
	}
	return c.plainSecret(key, found)
}

// token reads a secret from its key or from the file that its key with _file names.
// A rejected secret becomes empty.
func (c *checker) token(key string, value *Secret, file string) {
	literal := *value
	*value = Secret{}
	switch {
	case file != "" && c.has(key):
		c.bad(key, "a secret and a file for it are both given", "leave one of the two out")
	case file != "":
		*value = c.readSecret(key+"_file", file)
	case c.has(key + "_file"):
		c.bad(key+"_file", "the path is empty", "name a file, or leave the key out")
	case c.has(key) && !envReference.MatchString(literal.Reveal()):
		c.bad(key, "a secret does not belong in the configuration file", "write ${NAME} and set that variable, or name a file with the key that ends in _file")
	case c.has(key):
		*value = c.expand(key, literal)
	}
}

// maxSecret is the largest file a secret is read from, in bytes.
const maxSecret = 64 << 10

// readSecret is the content of the file at path, without the line's end.
func (c *checker) readSecret(key, path string) Secret {
	resolved := c.real(key, path)
	if resolved == "" {
		return Secret{}
	}
	c.secretFiles[key] = resolved
	f, err := os.OpenFile(resolved, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.bad(key, fmt.Sprintf("the file cannot be read: %v", safefs.Reason(err)), "put the token into it, readable for the host's user only: chmod 600")
		return Secret{}
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	text := strings.TrimRight(string(b), "\r\n")
	if err != nil || text == "" || len(b) > maxSecret {
		c.bad(key, "the file holds no secret, or is larger than 64 KiB", "write the secret into it, on one line")
		return Secret{}
	}
	return c.plainSecret(key, text)
}

// secretsHidden rejects a secret's file that a container can see.
func (c *checker) secretsHidden() {
	seen := []string{c.cfg.Layout().Groups(), c.cfg.Layout().IPCDir()}
	if l := c.cfg.Layout(); l.V1 {
		seen = append(seen, l.Sessions())
	}
	for _, g := range c.cfg.Groups {
		if g.Main && c.cfg.Project != "" {
			seen = append(seen, c.cfg.Project)
		}
		for _, e := range g.Mounts {
			if e.Host != "" {
				seen = append(seen, e.Host)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.secretFiles)) {
		file := c.secretFiles[key]
		for _, dir := range seen {
			if holds(dir, file) && !c.shadowed(file, dir) {
				c.bad(key, "a group's container would see this file", "keep secrets outside of the project directory and of every mount, such as in the state directory's store/")
				break
			}
		}
	}
}

// shadowed reports whether file is hidden in main's view of the project directory.
func (c *checker) shadowed(file, dir string) bool {
	if dir != c.cfg.Project {
		return false
	}
	if file == filepath.Join(dir, ".env") {
		return true
	}
	return slices.ContainsFunc(c.cfg.Layout().Private(), func(private string) bool {
		_, inside := safefs.Below(private, file)
		return inside
	})
}
