package keys

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// Socket is the name of the socket in a group's directory.
const Socket = "model.sock"

const (
	maxConns  = 64 // connections of a group
	maxHeader = 32 << 10
)

// Listen serves the handler on a socket in dir, which is made if it is missing.
// Directory and socket belong to uid and gid and open to nobody else. dir must
// lie where only the host can write. Its Close ends the calls.
func Listen(dir string, uid, gid int, h http.Handler) (*httpd.Running, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make socket directory: %w", err)
	}
	path := filepath.Join(dir, Socket)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("remove old socket: %w", err)
	}
	l, err := listen(dir)
	if err != nil {
		return nil, fmt.Errorf("listen for assistants' calls: %w", err)
	}
	if err := errors.Join(os.Lchown(path, uid, gid), os.Lchown(dir, uid, gid)); err != nil {
		l.Close()
		return nil, fmt.Errorf("hand over socket: %w", err)
	}
	return Serve(l, h), nil
}

// Serve serves the handler on a listener until Close, which closes it and ends the calls.
func Serve(l net.Listener, h http.Handler) *httpd.Running {
	guard := httpd.Guard{Programs: true, Hint: "use the address that the assistant was given"}
	s := httpd.Server{
		Handler: guard.Wrap(h), HeaderTime: 10 * time.Second, Header: maxHeader, Conns: &httpd.AtMost{Conns: maxConns},
		Reads:  httpd.Speed{PerSecond: httpd.Steady.PerSecond, Grace: silence}, // an answer may be long in the making, and so may what reads it
		Cancel: true,
	}
	return s.Start(context.Background(), l)
}

// listen binds the socket below a handle of its directory: the path of a state
// directory can be longer than a socket's address.
func listen(dir string) (net.Listener, error) {
	address := filepath.Join(dir, Socket)
	if runtime.GOOS == "linux" {
		d, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		address = fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), Socket)
	}
	l, err := httpd.ListenUnix(address)
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the next Listen removes it; the handle is closed by then
	return l, nil
}
