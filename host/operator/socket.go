package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	SocketName = "longshore.sock" // the control socket's, in ControlDir
	socketHost = "longshore"      // by which clients name the host

	// maxSocketPath is below the limit of every system, in bytes: Linux allows
	// 107 (unix(7)), macOS and the BSDs 103.
	maxSocketPath = 100

	shortRest = 32 // bytes of the path of a short socket behind its runtime directory, at most

	// dialTimeout is for a host that no longer accepts connections; otherwise a
	// unix socket answers at once.
	dialTimeout = 2 * time.Second
)

// ControlDir returns the directory of the control socket. Only the host uses
// it; no container can reach it.
func ControlDir(l groups.Layout) string { return l.Own() }

// listen binds the control socket in own. If a host already answers, the error
// is ErrRunning; the socket of a dead host is replaced. The caller removes the socket.
func listen(ctx context.Context, own, runtimeDir string) (*socket, error) {
	if conn, err := dial(ctx, own); err == nil {
		_ = conn.Close()
		return nil, ErrRunning
	}
	link := filepath.Join(own, SocketName)
	if err := removeStale(link); err != nil {
		return nil, err
	}
	path := link
	if len(path) > maxSocketPath {
		dir, err := shortDir(runtimeDir)
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, shortName)
	}
	// Between bind and chmod, only the umask decides who may connect. The check
	// of the peer's user in Accept covers that moment.
	ln, err := httpd.ListenUnix(path)
	if err != nil {
		if path != link {
			err = errors.Join(err, os.Remove(filepath.Dir(path)))
		}
		return nil, fmt.Errorf("bind control socket: %w", err)
	}
	ln.SetUnlinkOnClose(false) // remove looks first whose the file is
	if path != link {
		err = os.Symlink(path, link)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(link)
	}
	if err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("place control socket: %w", err)
	}
	return &socket{UnixListener: ln, link: link, path: path, info: info}, nil
}

// socket is the control socket: at path, to which link leads if they differ.
type socket struct {
	*net.UnixListener
	link, path string
	info       fs.FileInfo
}

// there reports whether commands still find this socket; if nobody may look, it is taken to be there.
func (s *socket) there() bool {
	info, err := os.Stat(s.link)
	return errors.Is(err, fs.ErrPermission) || err == nil && os.SameFile(info, s.info)
}

// remove closes the socket, and deletes what is its own.
func (s *socket) remove() {
	_ = s.Close()
	if s.path != s.link || s.there() {
		_ = os.Remove(s.path)
	}
	if s.path == s.link {
		return
	}
	if target, err := os.Readlink(s.link); err == nil && target == s.path {
		_ = os.Remove(s.link)
	}
	_ = os.Remove(filepath.Dir(s.path))
}

// dial connects to the control socket in own. The error is ErrNoHost if nobody
// listens, and ErrDenied if this user may not know.
func dial(ctx context.Context, own string) (net.Conn, error) {
	path := filepath.Join(own, SocketName)
	if target, err := os.Readlink(path); err == nil {
		if err := madeByHost(own, filepath.Dir(target)); err != nil {
			return nil, err
		}
		path = target // a socket's path is limited even if a link leads to it
	}
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOTDIR):
		// EINVAL: the path is too long, and no host has left a link. ENOTDIR: the state directory is none.
		return nil, ErrNoHost
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrDenied
	case err != nil:
		return nil, fmt.Errorf("reach the host: %w", err)
	}
	return conn, nil
}

// madeByHost returns ErrNoHost if dir, to which the link in own leads, is not a directory that
// shortDir made. After a crash the system may clear it away, and another user of the machine can
// then take its name.
func madeByHost(own, dir string) error {
	fi, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrPermission) {
		return ErrDenied
	}
	if err != nil || !fi.IsDir() || fi.Mode().Perm() != 0o700 {
		return ErrNoHost
	}
	home, err := os.Stat(own)
	if err != nil {
		return fmt.Errorf("examine directory of control socket: %w", err)
	}
	if uid := ownerOf(fi); uid != 0 && uid != os.Geteuid() && uid != ownerOf(home) {
		return ErrNoHost
	}
	return nil
}

// ownerOf returns the user id of a file's owner, or -1 if the system has none.
func ownerOf(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// removeStale removes a socket, or a link to one, on which nobody answers.
// Anything else was not put there by a host and stays. Of a link, the directory that the
// host before made for its socket goes too, as far as it can be removed.
func removeStale(path string) error {
	if err := removable(path); err != nil {
		return err
	}
	if target, err := os.Readlink(path); err == nil && filepath.Base(target) == shortName {
		dir := filepath.Dir(target)
		if strings.HasPrefix(filepath.Base(dir), shortPrefix) && madeByHost(filepath.Dir(path), dir) == nil {
			_ = os.Remove(target)
			_ = os.Remove(dir)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove stale control socket: %w", err)
	}
	return nil
}

// CheckSocket returns an error if something that no host has put there is in
// the place of the control socket of own, the directory that ControlDir
// returns.
func CheckSocket(own string) error { return removable(filepath.Join(own, SocketName)) }

// removable returns an error if the file in the place of the control socket was
// not put there by a host.
func removable(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("examine control socket: %w", err)
	}
	if fi.Mode()&(fs.ModeSocket|fs.ModeSymlink) == 0 {
		return fmt.Errorf("%s is in the place of the control socket but is not a socket", filepath.Base(path))
	}
	return nil
}

// shortPrefix begins the name of a directory that shortDir makes, shortName is the socket in it.
const (
	shortPrefix = "longshore-"
	shortName   = "s"
)

// shortDir makes a directory with a short name, for the socket of a directory whose path is
// too long. Nobody can guess the name and take it first, in a directory that is open to all.
func shortDir(runtimeDir string) (string, error) {
	// systemd sets RUNTIME_DIRECTORY for a service that asks for one. The
	// commands do not need the variable, as they follow the link.
	runtimeDir = cmp.Or(runtimeDir, os.Getenv("RUNTIME_DIRECTORY"), os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
	if len(runtimeDir) > maxSocketPath-shortRest {
		runtimeDir = "/tmp"
	}
	dir, err := os.MkdirTemp(runtimeDir, shortPrefix) // mode 0700
	if err != nil {
		return "", fmt.Errorf("make directory for control socket: %w", err)
	}
	return dir, nil
}
