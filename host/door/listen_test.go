package door

import (
	"context"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAGroupHasItsConnections, and strangers theirs.
func TestAGroupHasItsConnections(t *testing.T) {
	g := &gate{}
	var conns []*conn
	come := func(folder string) bool {
		c := &conn{Conn: &net.TCPConn{}, gate: g}
		g.strangers++
		conns = append(conns, c)
		return g.admit(context.WithValue(context.Background(), connKey{}, c), folder)
	}
	for i := range maxGuests + 1 {
		if got := come("a"); got != (i < maxGuests) {
			t.Errorf("connection %d: %v", i, got)
		}
	}
	if !come("b") || g.strangers != 1 {
		t.Error("one group's connections are another's", g.strangers)
	}
	for _, c := range conns {
		_ = c.Close()
		_ = c.Close()
	}
	if g.strangers != 0 || len(g.guests) != 0 {
		t.Errorf("left: %d, %v", g.strangers, g.guests)
	}
}

// deadlines is an answer that notes by when a body must have come.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

// TestABodyKeepsItsPace: half a minute, and a second more for each 16 KiB.
func TestABodyKeepsItsPace(t *testing.T) {
	rw := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 64<<10)))
	p := pace(rw, r, 1<<20).(*paced)
	if _, err := io.ReadFull(p, make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(make([]byte, 1)); err != nil || rw.read.Sub(p.start) != paceGrace+2*time.Second {
		t.Error(rw.read.Sub(p.start), err)
	}
}

// TestASocketIsForTheHostsUserAlone, and one that was left behind is replaced.
func TestASocketIsForTheHostsUserAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	l, err := listen(SocketPrefix + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := listen(SocketPrefix + path); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Error(err)
	}
	_ = l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(SocketPrefix + path); err == nil {
		t.Error("a file was replaced")
	}
}
