package forward

import (
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestBytesGoBothWaysUntilBothEndsAreDone says something, ends, and still gets the
// whole answer, that of a host that started late included.
func TestBytesGoBothWaysUntilBothEndsAreDone(t *testing.T) {
	socket := filepath.Join(fstest.ShortTemp(t), "s")
	address, stop, err := Listen("127.0.0.1:0", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ask := func() (string, error) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "question"); err != nil {
			return "", err
		}
		c.(*net.TCPConn).CloseWrite()
		text, err := io.ReadAll(c)
		return string(text), err
	}
	if text, err := ask(); text != "" {
		t.Errorf("without a host: %q, %v", text, err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c)
			io.WriteString(c, "answer to "+string(text))
			c.Close()
		}
	}()
	if text, err := ask(); text != "answer to question" || err != nil {
		t.Errorf("with a host: %q, %v", text, err)
	}
}
