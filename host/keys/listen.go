package keys

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// Socket is the name of the socket in a group's directory.
const Socket = "model.sock"

const (
	maxConns  = 64 // connections of a group
	maxHeader = 32 << 10
)

// Server serves one group's proxy on a socket.
type Server struct{ http *http.Server }

// Listen serves the handler on a socket in dir, which is made if it is missing.
// Directory and socket belong to uid and gid and open to nobody else. dir must
// lie where only the host can write.
func Listen(dir string, uid, gid int, h http.Handler) (*Server, error) {
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
	for _, step := range []error{os.Chmod(path, 0o600), os.Lchown(path, uid, gid), os.Lchown(dir, uid, gid)} {
		if step != nil {
			l.Close()
			return nil, fmt.Errorf("hand over socket: %w", step)
		}
	}
	return Serve(l, h), nil
}

// Serve serves the handler on a listener, which Close closes.
func Serve(l net.Listener, h http.Handler) *Server {
	s := &Server{&http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // what an assistant does wrong is its own matter
	}}
	go s.http.Serve(&bounded{Listener: l, open: make(chan struct{}, maxConns)})
	return s
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
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false) // the next Listen removes it; the handle is closed by then
	}
	return l, err
}

// Close ends the server and its calls.
func (s *Server) Close() error { return s.http.Close() }

// bounded closes a connection at once that is one too many. It leaves none unaccepted: over
// ssh that would hold up every other group of the same engine.
type bounded struct {
	net.Listener
	open chan struct{} // has an element for each open connection
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.open <- struct{}{}:
			return &counted{Conn: c, open: b.open}, nil
		default:
			_ = c.Close()
		}
	}
}

type counted struct {
	net.Conn
	open  chan struct{} // has its place, until it is closed
	close sync.Once
}

func (c *counted) Close() error {
	c.close.Do(func() { <-c.open })
	return c.Conn.Close()
}
