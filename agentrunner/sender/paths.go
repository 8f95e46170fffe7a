package sender

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/ipc"
)

// dropDir is where an assistant drops files, see package dropdir.
const dropDir = "/workspace/group/outbox"

// maxPath is the longest path that Linux can open, in bytes.
const maxPath = 4096

// localPath converts a path from an assistant to one that this process can open. The
// path may be absolute, relative, ~/… or a file: URL.
func (s *Sender) localPath(path string) (string, error) {
	switch {
	case isBlank(path):
		return "", problem("invalid_argument", "the path is empty", "give the path of the file to send")
	case len(path) > maxPath:
		return "", problem("invalid_argument", "the path is longer than 4096 bytes", "move the file to a shorter path")
	case strings.ContainsRune(path, 0):
		return "", problem("invalid_argument", "the path holds a NUL character", "give the path without it")
	}
	if scheme, _, ok := strings.Cut(path, ":"); ok && isScheme(scheme) {
		return s.fromURL(scheme, path)
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", problem("path_unsupported", "there is no home directory for "+quoted(path), "give the absolute path")
		}
		path = filepath.Join(home, path[1:])
	}
	if local, ok := s.config.local(path); ok {
		return local, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", problem("path_unsupported", "the working directory no longer exists, so "+quoted(path)+" cannot be found", "give the absolute path")
	}
	return abs, nil
}

// isScheme reports whether the text before the first colon makes a path a URL of a
// kind that assistants are known to pass. Any other name with a colon is a file
// name.
func isScheme(s string) bool {
	switch strings.ToLower(s) {
	case "file", "http", "https", "ftp", "data", "s3", "blob":
		return true
	}
	return false
}

func (s *Sender) fromURL(scheme, path string) (string, error) {
	switch strings.ToLower(scheme) {
	case "file":
		u, err := url.Parse(path)
		if err != nil || u.Path == "" || (u.Host != "" && u.Host != "localhost") {
			return "", problem("path_unsupported", quoted(path)+" does not name a file on this machine", "give the plain path, such as /workspace/group/report.pdf")
		}
		if strings.ContainsRune(u.Path, 0) {
			return "", problem("invalid_argument", "the path holds a NUL character", "give the path without it")
		}
		if local, ok := s.config.local(u.Path); ok {
			return local, nil
		}
		return filepath.Clean(u.Path), nil
	case "data":
		return "", problem("path_unsupported", "that is the content of a file, not its path", "call send_attachment with it, or write it to a file first")
	}
	return "", problem("path_unsupported", quoted(path)+" is an address, not a file", "download it to /workspace/group first, then send that file")
}

// local translates a container's path for a process that runs without a container.
func (c Config) local(path string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	var best Mount
	path = filepath.Clean(path)
	for _, m := range c.mounts() {
		if under(path, m.Path) && len(m.Path) > len(best.Path) {
			best = m
		}
	}
	if best.Path == "" {
		return "", false
	}
	return filepath.Join(best.Local, strings.TrimPrefix(path, filepath.Clean(best.Path))), true
}

// Workspace returns the path of the group's workspace in this process.
func (c Config) Workspace() string {
	const workspace = "/workspace/group"
	if local, ok := c.local(workspace); ok {
		return local
	}
	return workspace
}

// container translates a real path, free of links, to the path that the host knows.
// Without Mounts both are the same.
func (c Config) container(real string) (string, bool) {
	if c.Mounts == nil {
		return real, true
	}
	var best Mount
	bestLocal := ""
	for _, m := range c.mounts() {
		local, err := filepath.EvalSymlinks(m.Local)
		if err != nil {
			continue
		}
		if under(real, local) && len(local) > len(bestLocal) {
			best, bestLocal = m, local
		}
	}
	if bestLocal == "" {
		return "", false
	}
	return filepath.Join(best.Path, strings.TrimPrefix(real, bestLocal)), true
}

// mounts returns the configured mounts and that of the queue.
func (c Config) mounts() []Mount {
	if c.Mounts == nil {
		return nil
	}
	return append([]Mount{{Path: containerIPC, Local: c.IPC}}, c.Mounts...)
}

// under reports whether path is dir or lies below it; /dir-evil is not below /dir.
func under(path, dir string) bool {
	dir = filepath.Clean(dir)
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// shared reports whether the host can open a container's path. The longest mount
// above the path decides; below a shadow nothing can be opened.
func shared(path string, mounts []ipc.ContextMount) bool {
	var best ipc.ContextMount
	for _, m := range mounts {
		if under(path, m.Path) && len(m.Path) > len(best.Path) {
			best = m
		}
	}
	return best.Path != "" && !best.Shadow
}
