// Package ssh reaches another machine on which an assistant runs: it connects
// over ssh, copies agentrunner there, and offers the assistant one unix socket
// of the host. It opens no port, forwards no agent, and trusts only the host keys
// that known_hosts names.
//
// Everything that the other machine sends is untrusted: answers are short, and
// nothing is waited for without bound. Connection and listener belong to the
// caller, who closes them.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Target is a machine, as the operator configured it.
type Target struct {
	Host       string // name or address, with ":port" if it is not 22
	User       string
	Key        string // file of the private key, without a passphrase
	KnownHosts string // file that names the machine's keys
}

// keepalive is between two probes. Three that are missed end the connection.
const keepalive = 15 * time.Second

// Fault is a failure that the operator can remedy.
type Fault struct {
	What, Remedy string
	Err          error // may be nil
}

func (f *Fault) Error() string {
	if f.Err == nil {
		return f.What
	}
	return f.What + ": " + f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// Conn is a connection to a machine. Its methods may be called concurrently.
type Conn struct {
	client *ssh.Client
	ended  chan struct{} // closed when the connection has ended and its goroutines too
}

const dialWait = 20 * time.Second

// Dial connects to the machine and logs in. A *Fault says what the operator can do.
func Dial(ctx context.Context, t Target) (*Conn, error) { return dial(ctx, t, keepalive) }

func dial(ctx context.Context, t Target, every time.Duration) (*Conn, error) {
	addr := t.Host
	if _, _, err := net.SplitHostPort(addr); err != nil {
		addr = net.JoinHostPort(addr, "22")
	}
	config, err := t.config(addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &Fault{"the machine does not answer", "check `host`, the machine and the network", err}
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	conn, channels, requests, err := ssh.NewClientConn(raw, addr, config)
	if !stop() && err == nil {
		conn.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.Close()
		return nil, loginFault(t, err)
	}
	c := &Conn{client: ssh.NewClient(conn, channels, requests), ended: make(chan struct{})}
	go c.watch(every)
	return c, nil
}

func (t Target) config(addr string) (*ssh.ClientConfig, error) {
	info, err := os.Stat(t.Key)
	if err != nil {
		return nil, &Fault{"cannot read the private key", "set `key` to the file of the private key", err}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, &Fault{"other users can read the private key", "run chmod 600 on the file of `key`", nil}
	}
	text, err := os.ReadFile(t.Key)
	if err != nil {
		return nil, &Fault{"cannot read the private key", "make the file of `key` readable for the host's user", err}
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, &Fault{"cannot use the private key", "make a key without a passphrase: ssh-keygen -t ed25519 -N ''", err}
	}
	known, err := knownhosts.New(t.KnownHosts)
	if err != nil {
		return nil, &Fault{"cannot read known_hosts", "set `known_hosts` to a file that names the machine's key", err}
	}
	return &ssh.ClientConfig{
		User: t.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: known, HostKeyAlgorithms: algorithms(known, addr),
	}, nil
}

// algorithms returns the algorithms of the keys that known_hosts names for the
// machine. Without them the machine could offer a key of another kind, which
// would look like a changed key.
func algorithms(known ssh.HostKeyCallback, addr string) (names []string) {
	var keys *knownhosts.KeyError
	if !errors.As(known(addr, &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &keys) {
		return nil
	}
	for _, k := range keys.Want {
		if k.Key.Type() == ssh.KeyAlgoRSA {
			names = append(names, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			continue
		}
		names = append(names, k.Key.Type())
	}
	return names
}

// noKey is a key that no machine has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

func loginFault(t Target, err error) error {
	var changed *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	var denied *ssh.ServerAuthError
	switch {
	case errors.As(err, &revoked):
		return &Fault{"the machine's key is revoked", "do not connect; ask the machine's owner for its new key", err}
	case errors.As(err, &changed) && len(changed.Want) > 0:
		return &Fault{"the machine's key has changed", "ask the machine's owner whether it was reinstalled; only then replace its line in known_hosts", err}
	case errors.As(err, &changed):
		return &Fault{"known_hosts does not name the machine's key", "compare the key with the machine's owner, then add it to known_hosts", err}
	case errors.As(err, &denied), hasText(err, "unable to authenticate"):
		return &Fault{fmt.Sprintf("the machine refuses the key for user %q", t.User), "add the public key to that user's authorized_keys", err}
	}
	return &Fault{"cannot log in", "try the same by hand: ssh -i KEY USER@HOST", err}
}

// watch ends the connection when the machine has answered no probe for three periods.
func (c *Conn) watch(every time.Duration) {
	closed := make(chan struct{})
	go func() {
		_ = c.client.Wait()
		close(closed)
	}()
	defer close(c.ended)
	for {
		select {
		case <-closed:
			return
		case <-time.After(every):
		}
		late := time.AfterFunc(3*every, func() { c.client.Close() })
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		late.Stop()
		if err != nil {
			c.client.Close()
			<-closed
			return
		}
	}
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Close ends the connection and all that uses it, and waits for its goroutines.
func (c *Conn) Close() {
	c.client.Close()
	<-c.ended
}
