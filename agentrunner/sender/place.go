package sender

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// places are the directories that an assistant may send files from: those that it
// shares with the host, its working directory and its temporary directories. If a
// model repeats a path from a member's message, no other file may leave.
//
// All paths are those of this process, free of links.
type places struct {
	config  Config
	host    hostView
	roots   []root
	private []string // directories of the agent CLI: settings, keys, sessions
}

// root is one of the directories in places.
type root struct {
	local     string
	container string // path for the host; empty: the host cannot see it
}

// places collects the directories anew for each call: the host may have changed
// them, and the working directory may have changed.
func (s *Sender) places(host hostView) places {
	p := places{config: s.config, host: host}
	for _, dir := range s.config.Private {
		p.private = append(p.private, resolved(dir))
	}
	for _, m := range s.config.shares(host) {
		p.roots = append(p.roots, root{local: resolved(m.Local), container: filepath.Clean(m.Path)})
	}
	if !host.shares {
		p.roots = append(p.roots, root{local: resolved(s.config.Workspace())})
	}
	for _, dir := range s.config.Temp {
		if dir = resolved(dir); p.find(dir) != nil {
			p.roots = append(p.roots, root{local: dir})
		}
	}
	if dir, ok := s.config.workingDir(); ok {
		if err := p.find(dir); err != nil && err.Code == codeNotMounted {
			p.roots = append(p.roots, root{local: dir})
		}
	}
	return p
}

// shares returns the directories that both this process and the host see. Only those
// below /workspace are for files: a host of the older layout also mounts the agent
// CLI's sessions.
func (c Config) shares(host hostView) []Mount {
	all := c.mounts()
	if c.Mounts == nil {
		for _, m := range host.mounts() {
			if !m.Shadow {
				all = append(all, Mount{Path: m.Path, Local: m.Path})
			}
		}
	}
	return slices.DeleteFunc(all, func(m Mount) bool { return !under(filepath.Clean(m.Path), "/workspace") })
}

// workingDir returns the directory that relative paths start at. ok is false if that
// directory is the root of the file system or contains the user's home: then nothing
// is sent from it.
func (c Config) workingDir() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	dir = resolved(dir)
	return dir, dir != "/" && (c.Home == "" || !under(resolved(c.Home), dir))
}

// The refusals use the host's codes.
const (
	codeNotMounted = "not_mounted"
	codeShadowed   = "path_shadowed"
	codeEscapes    = "path_escapes"
	codePrivate    = "agent_home"
)

// find returns a Problem if a path is in none of the directories, or is private or
// hidden.
func (p places) find(real string) *Problem {
	for _, dir := range p.private {
		if under(real, dir) {
			return problem(codePrivate, "it is in the home directory of the agent CLI, whose settings, keys and sessions are never sent",
				"send a file of the workspace, /workspace/group")
		}
	}
	r, ok := p.rootOf(real)
	if !ok {
		return problem(codeNotMounted, "it is outside the directories that files are sent from",
			"if it is meant for the members, copy it to "+p.best()+" and send the copy; "+p.words())
	}
	if r.container != "" && p.shadowed(r, real) {
		return problem(codeShadowed, "it is hidden from this group", "secrets and the host's own files cannot be sent")
	}
	return nil
}

// rootOf returns the longest of the directories that contain the path.
func (p places) rootOf(real string) (best root, ok bool) {
	for _, r := range p.roots {
		if under(real, r.local) && len(r.local) > len(best.local) {
			best, ok = r, true
		}
	}
	return best, ok
}

// shadowed reports whether one of the root's shadows hides the path: by its name, or
// because the path or a directory above it is the same file as the hidden one. The
// latter happens on a file system that opens .env under the name .ENV.
func (p places) shadowed(r root, real string) bool {
	path := filepath.Join(r.container, strings.TrimPrefix(real, r.local))
	for _, m := range p.host.mounts() {
		if !m.Shadow || !under(filepath.Clean(m.Path), r.container) {
			continue
		}
		if under(path, m.Path) {
			return true
		}
		hidden, err := os.Stat(filepath.Join(r.local, strings.TrimPrefix(filepath.Clean(m.Path), r.container)))
		if err != nil {
			continue
		}
		for dir := real; under(dir, r.local); dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err == nil && os.SameFile(info, hidden) {
				return true
			}
			if dir == r.local {
				break
			}
		}
	}
	return false
}

// best names the directory that a caller should use.
func (p places) best() string {
	if p.host.shares {
		return "/workspace/group"
	}
	if _, ok := p.config.workingDir(); !ok {
		return "another directory, start there,"
	}
	return "the working directory"
}

// words names the directories that a caller may use.
func (p places) words() string {
	if _, ok := p.config.workingDir(); !ok && !p.host.shares {
		return "the working directory holds the home directory and its keys, so nothing in it is sent; files are also sent from $TMPDIR"
	}
	if !p.host.shares {
		return "files are also sent from /workspace/group, if it is there, and from $TMPDIR"
	}
	if p.config.Mounts == nil {
		return "files are also sent from the other directories that chat_info lists, the working directory and /tmp"
	}
	return "files are also sent from the other directories that chat_info lists, the working directory and $TMPDIR"
}

// admit returns a Problem if a file may not be sent. real is the path without links,
// local the path before links were followed, named the path as the caller gave it.
func (p places) admit(real, local, named string) error {
	wrong := p.find(real)
	if wrong == nil {
		return nil
	}
	if wrong.Code == codeNotMounted && p.find(filepath.Clean(local)) == nil {
		return problem(codeEscapes, quoted(named)+" is a link out of the directories that files are sent from", wrong.Hint)
	}
	return problem(wrong.Code, quoted(named)+" cannot be sent: "+wrong.Message, wrong.Hint)
}

// resolved follows the links in the existing part of a path.
func resolved(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// openedPath returns the real path of an open file. It asks the kernel, since the
// name may lead to another file by now.
func openedPath(file *os.File, stat fs.FileInfo, local string) (string, error) {
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err == nil && filepath.IsAbs(path) {
		return path, nil
	}
	real, err := filepath.EvalSymlinks(local)
	if err != nil {
		return "", err
	}
	if now, err := os.Lstat(real); err != nil || !os.SameFile(now, stat) {
		return "", fs.ErrNotExist
	}
	return real, nil
}

// privateDirs returns the directories and files in which agent CLIs keep settings,
// keys and sessions.
func privateDirs(getenv func(string) string, workspace string) []string {
	home := getenv("HOME")
	dirs := []string{getenv("CLAUDE_CONFIG_DIR"), getenv("CODEX_HOME")}
	if dir := getenv("GEMINI_CLI_HOME"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, ".gemini"))
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		if dir := getenv(name); dir != "" {
			dirs = append(dirs, filepath.Join(dir, "opencode"))
		}
	}
	own := getenv("LONGSHORE_AGENT_HOME")
	if own == "" && home != "" {
		own = filepath.Join(home, ".longshore")
	}
	dirs = append(dirs, own)
	if home != "" && filepath.Clean(home) != filepath.Clean(workspace) {
		for _, name := range []string{".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode", ".local/state/opencode"} {
			dirs = append(dirs, filepath.Join(home, name))
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// tempDirs returns the assistant's own directories for temporary files. Without a
// container, /tmp belongs to all users of the machine, so only a directory that the
// host named in TMPDIR counts.
func tempDirs(getenv func(string) string, container bool) []string {
	var dirs []string
	if dir := getenv("TMPDIR"); filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
		dirs = append(dirs, dir)
	}
	if container {
		dirs = append(dirs, "/tmp")
	}
	return dirs
}
