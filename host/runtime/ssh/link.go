package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"regexp"
	"sync"
)

// Link is a machine to which a connection is made when one is needed, and made again after
// it was lost. Its methods may be called concurrently.
type Link struct {
	Target Target

	mu   sync.Mutex
	conn *Conn
	home Home
}

// Open returns the connection, and the account that it leads to. The Link closes it.
func (l *Link) Open(ctx context.Context) (*Conn, Home, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		select {
		case <-l.conn.Done():
			l.conn = nil
		default:
			return l.conn, l.home, nil
		}
	}
	conn, err := Dial(ctx, l.Target)
	if err != nil {
		return nil, Home{}, err
	}
	home, _, err := conn.account(ctx)
	if err != nil {
		conn.Close()
		return nil, Home{}, err
	}
	l.conn, l.home = conn, home
	return conn, home, nil
}

// Close ends the connection, if there is one.
func (l *Link) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

// DialUnix connects to a unix socket of the machine. The connection has deadlines.
func (l *Link) DialUnix(ctx context.Context, socket string) (net.Conn, error) {
	c, _, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	far, err := c.client.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, &Fault{"the machine lets nobody in at " + socket, "start the engine there, let the account use its socket, and set AllowStreamLocalForwarding yes in the machine's sshd_config", err}
	}
	mine, inner, err := socketpair()
	if err != nil {
		return nil, errors.Join(err, far.Close())
	}
	go func() { // what the host says; its end is not that of the answer
		_, _ = io.Copy(far, inner)
		if half, ok := far.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	go func() {
		_, _ = io.Copy(inner, far)
		_ = far.Close()
		_ = inner.Close()
	}()
	return &dialled{mine.(*net.UnixConn), far}, nil
}

// dialled ends the far connection too when it is closed.
type dialled struct {
	*net.UnixConn
	far net.Conn
}

func (d *dialled) Close() error {
	_ = d.far.Close() // its error is the connection's end
	return d.UnixConn.Close()
}

// ListenFor makes a unix socket on the machine that only a container's user can connect to,
// and returns the directory there that holds it alone, for the container. The account must be
// that user, or root. slot, lower case hexadecimal, says whose directory it is: it stays, and
// an older socket in it is removed. The caller closes the listener.
func (l *Link) ListenFor(ctx context.Context, slot, socket string, uid, gid int) (net.Listener, string, error) {
	c, h, err := l.Open(ctx)
	if err != nil {
		return nil, "", err
	}
	const above = "~/.longshore/sockets"
	dir := path.Join(h.Dir, ".longshore/sockets", slot)
	name := path.Join(dir, socket)
	if !plainSlot.MatchString(slot) {
		return nil, "", errors.New("listen: not a slot")
	}
	if len(name) > socketBytes {
		return nil, "", &Fault{"the path of the home directory is too long for a socket", "give the user a shorter home directory", nil}
	}
	_, err = c.command(ctx, answerWait, fmt.Sprintf("umask 077; mkdir -p %s && chmod 711 %s && rm -f %s/*.sock", dir, dir, dir), nil, answerBytes)
	if err != nil {
		return nil, "", &Fault{"cannot make a directory for the socket", "let the user write in its home directory", err}
	}
	err = errors.Join(c.private(ctx, path.Dir(dir), "drwx------", h.UID, above), c.private(ctx, dir, "drwx--x--x", h.UID, above))
	if err != nil {
		return nil, "", err
	}
	listener, err := c.listen(ctx, name)
	if err != nil {
		return nil, "", err
	}
	owner := fmt.Sprint(uid)
	if owner != h.UID {
		if _, err = c.command(ctx, answerWait, fmt.Sprintf("chown %d:%d %s", uid, gid, name), nil, answerBytes); err != nil {
			err = &Fault{"cannot give the socket to the containers' user", "log in as root, or as the user that containers run as", err}
		}
	}
	if err == nil {
		err = c.private(ctx, name, "srw-------", owner, above)
	}
	if err != nil {
		return nil, "", errors.Join(err, listener.Close())
	}
	return listener, dir, nil
}

var plainSlot = regexp.MustCompile(`^[0-9a-f]{1,16}$`)
