//go:build e2e

package ssh

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestALinkReachesASocketAgainAfterItWasLost, whole answers and deadlines included.
func TestALinkReachesASocketAgainAfterItWasLost(t *testing.T) {
	m := startMachine(t)
	socket := filepath.Join(m.home, "engine.sock")
	serveEcho(t, socket)
	link := &Link{Target: m.Target}
	t.Cleanup(link.Close)
	ask := func() {
		t.Helper()
		c, err := link.DialUnix(t.Context(), socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		question := strings.Repeat("question ", 20_000)
		go func() {
			_, _ = io.WriteString(c, question) // what is missing is missing in the answer
			_ = c.(interface{ CloseWrite() error }).CloseWrite()
		}()
		if answer, err := io.ReadAll(c); err != nil || string(answer) != question {
			t.Errorf("the answer has %d bytes, %v", len(answer), err)
		}
	}
	ask()
	first, _, err := link.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := link.Open(t.Context()); err != nil || again != first {
		t.Errorf("a second connection was made: %v", err)
	}
	first.Close()
	ask()

	silent, err := link.DialUnix(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := silent.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("a read behind its deadline: %v", err)
	}
	_, err = link.DialUnix(t.Context(), filepath.Join(m.home, "none.sock"))
	wantFault(t, err, "lets nobody in at")
}

// serveEcho answers each connection with what it says, once it has said everything.
func serveEcho(t *testing.T, socket string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				text, _ := io.ReadAll(c)
				_, _ = c.Write(text)
			}()
		}
	}()
}

// TestAContainersSocketIsItsUsersAlone, in a directory that a container may have.
func TestAContainersSocketIsItsUsersAlone(t *testing.T) {
	m := startMachine(t)
	link := &Link{Target: m.Target}
	t.Cleanup(link.Close)
	for range 2 { // the second finds the first one's directory and socket
		l, dir, err := link.ListenFor(t.Context(), "ab12", "host.sock", 1234, 1235)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if names, err := filepath.Glob(dir + "/*"); err != nil || len(names) != 1 {
			t.Errorf("the directory has %v, %v", names, err)
		}
		info, err := os.Lstat(filepath.Join(dir, "host.sock"))
		if err != nil {
			t.Fatal(err)
		}
		if of := info.Sys().(*syscall.Stat_t); info.Mode() != os.ModeSocket|0o600 || of.Uid != 1234 || of.Gid != 1235 {
			t.Errorf("the socket is %v of %d:%d", info.Mode(), of.Uid, of.Gid)
		}
		if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o711 {
			t.Errorf("the directory: %v, %v", info, err)
		}
	}
	if err := os.Chmod(filepath.Join(m.home, ".longshore/sockets"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err := link.ListenFor(t.Context(), "ab12", "host.sock", 1234, 1235)
	wantFault(t, err, "other users of the machine could reach the socket")
	if _, _, err := link.ListenFor(t.Context(), "../ab", "host.sock", 0, 0); err == nil {
		t.Error("a slot led to another directory")
	}
}

// TestAnEngineWhoseMachineForbidsForwardingIsRefused with the remedy.
func TestAnEngineWhoseMachineForbidsForwardingIsRefused(t *testing.T) {
	m := startMachine(t, "AllowStreamLocalForwarding remote")
	socket := filepath.Join(m.home, "engine.sock")
	serveEcho(t, socket)
	link := &Link{Target: m.Target}
	t.Cleanup(link.Close)
	_, err := link.DialUnix(t.Context(), socket)
	wantFault(t, err, "lets nobody in at")
}
