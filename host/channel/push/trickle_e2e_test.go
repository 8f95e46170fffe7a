//go:build e2e

package push_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
)

// Who trickles a header is cut off, and holds nobody up.
func TestAHeaderThatTricklesEnds(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	at, err := url.Parse(w.listens(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nX-Slow: ", at.Host)
	if err := w.Post(t.Context(), w.listens(t), hello()); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
	in.Wait(t, 1)
	if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
		_, err = io.Copy(io.Discard, conn)
		if err != nil {
			t.Errorf("the connection did not end: %v", err)
		}
	}
}
