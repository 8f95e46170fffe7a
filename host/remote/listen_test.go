package remote

import (
	"context"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAGroupHasItsConnections, and strangers theirs.
func TestAGroupHasItsConnections(t *testing.T) {
	g := &gate{limits: DefaultLimits()}
	var conns []*conn
	come := func(folder string) bool {
		c, _ := g.enter(&net.TCPConn{})
		conns = append(conns, c)
		return g.admit(context.WithValue(context.Background(), connKey{}, c), folder)
	}
	for i := range maxGuests + 1 {
		if got := come("a"); got != (i < maxGuests) {
			t.Errorf("connection %d: %v", i, got)
		}
	}
	if !come("b") || g.strangers.Len() != 1 {
		t.Error("one group's connections are another's", g.strangers.Len())
	}
	for _, c := range conns {
		_ = c.Close()
		_ = c.Close()
	}
	if g.strangers.Len() != 0 || len(g.guests) != 0 {
		t.Errorf("left: %d, %v", g.strangers.Len(), g.guests)
	}
}

// TestStrangersThatCrawlTakeNoPlaceFromOneThatComes: the one that has shown nothing for the
// longest time goes, and a guest stays.
func TestStrangersThatCrawlTakeNoPlaceFromOneThatComes(t *testing.T) {
	g := &gate{limits: DefaultLimits()}
	guest, _ := g.enter(&net.TCPConn{})
	if !g.admit(context.WithValue(context.Background(), connKey{}, guest), "a") {
		t.Fatal("not admitted")
	}
	first, _ := g.enter(&net.TCPConn{})
	for range maxStrangers - 1 {
		if _, oldest := g.enter(&net.TCPConn{}); oldest != nil {
			t.Fatal("there was room")
		}
	}
	if _, oldest := g.enter(&net.TCPConn{}); oldest != first {
		t.Fatalf("%p goes, want %p", oldest, first)
	}
	_ = first.Close()
	if g.strangers.Len() != maxStrangers || guest.closed {
		t.Error(g.strangers.Len(), guest.closed)
	}
}

// deadlines is an answer that notes by when a body must have come.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

// TestABodyThatCameFastMayNotStallForLonger: half a minute of grace, which 16 KiB give a
// second of back. A gigabyte that came at once does not keep a place for a day.
func TestABodyThatCameFastMayNotStallForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rw := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 1<<20)))
		p := DefaultLimits().pace(rw, r, 1<<20)
		read := func(n int, want time.Duration) {
			t.Helper()
			if _, err := io.ReadFull(p, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
			if got := time.Until(p.(*paced).due).Round(time.Millisecond); got != want {
				t.Errorf("the next bytes must come within %v, want %v", got, want)
			}
		}
		read(512<<10, paceGrace)
		time.Sleep(20 * time.Second) // of the bubble
		read(16, 10*time.Second+time.Millisecond)
		read(32<<10, 12*time.Second+time.Millisecond)
		due := p.(*paced).due
		if read(16, 12*time.Second+2*time.Millisecond); !rw.read.Equal(due) {
			t.Errorf("the connection waits until %v, want %v", rw.read, due)
		}
	})
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
