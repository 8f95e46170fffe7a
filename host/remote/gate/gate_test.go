package gate

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAGroupHasItsConnections, and strangers theirs.
func TestAGroupHasItsConnections(t *testing.T) {
	g := &Gate{Strangers: 512, Group: 64}
	var conns []*conn
	come := func(folder string) bool {
		c, _ := g.enter(&net.TCPConn{})
		conns = append(conns, c)
		return g.Admit(context.WithValue(context.Background(), connKey{}, c), folder)
	}
	for i := range g.Group + 1 {
		if got := come("a"); got != (i < g.Group) {
			t.Errorf("connection %d: %v", i, got)
		}
	}
	if !come("b") || g.unknown.Len() != 1 {
		t.Error("one group's connections are another's", g.unknown.Len())
	}
	for _, c := range conns {
		_ = c.Close()
		_ = c.Close()
	}
	if g.unknown.Len() != 0 || len(g.guests) != 0 {
		t.Errorf("left: %d, %v", g.unknown.Len(), g.guests)
	}
}

// TestStrangersThatCrawlTakeNoPlaceFromOneThatComes: the one that has shown nothing for the
// longest time goes, and a guest stays.
func TestStrangersThatCrawlTakeNoPlaceFromOneThatComes(t *testing.T) {
	g := &Gate{Strangers: 512, Group: 64}
	guest, _ := g.enter(&net.TCPConn{})
	if !g.Admit(context.WithValue(context.Background(), connKey{}, guest), "a") {
		t.Fatal("not admitted")
	}
	first, _ := g.enter(&net.TCPConn{})
	for range g.Strangers - 1 {
		if _, oldest := g.enter(&net.TCPConn{}); oldest != nil {
			t.Fatal("there was room")
		}
	}
	if _, oldest := g.enter(&net.TCPConn{}); oldest != first {
		t.Fatalf("%p goes, want %p", oldest, first)
	}
	_ = first.Close()
	if g.unknown.Len() != g.Strangers || guest.closed {
		t.Error(g.unknown.Len(), guest.closed)
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
	l, err := Listen(SocketPrefix + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := Listen(SocketPrefix + path); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Error(err)
	}
	_ = l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(SocketPrefix + path); err == nil {
		t.Error("a file was replaced")
	}
}
