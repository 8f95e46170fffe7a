// Package forward carries bytes between a loopback port and a unix socket, by which
// the agent CLI in a container reaches the host's model proxy without a network.
// It does not read what it carries.
package forward

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// maxConns is how many connections are carried at once; further ones wait.
const maxConns = 64

// Listen accepts connections at the TCP address and carries each to a connection of
// the socket. at is the address with the port that it got. stop closes the port;
// connections end with the process.
func Listen(address, socket string) (at string, stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("listen for the assistant's calls of the model: %w", err)
	}
	free := make(chan struct{}, maxConns)
	go func() {
		for {
			free <- struct{}{}
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { <-free }()
				carry(c.(*net.TCPConn), socket)
			}()
		}
	}()
	return l.Addr().String(), func() { l.Close() }, nil
}

// carry copies both ways until both ends are done. Without a host the connection
// just ends, and the CLI tries again.
func carry(near *net.TCPConn, socket string) {
	defer near.Close()
	far, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return
	}
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(far, near)
		far.CloseWrite()
	})
	io.Copy(near, far)
	near.Close() // the host has said everything; a request that is left over has no reader
	both.Wait()
}
