//go:build e2e

package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/longshore-bridge/longshore/host/runtime/ssh/sshtest"
	"github.com/longshore-bridge/longshore/internal/need"
)

// machineUnderTest is another machine, as the runtime knows it.
type machineUnderTest struct {
	Target
	*sshtest.Machine
	home string
}

func startMachine(t *testing.T, settings ...string) *machineUnderTest {
	t.Helper()
	m := sshtest.Start(t, settings...)
	return &machineUnderTest{Target{Host: m.Host, User: m.User, Key: m.Key, KnownHosts: m.KnownHosts}, m, m.Home}
}

func (m *machineUnderTest) dial(t *testing.T) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), m.Target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (m *machineUnderTest) probe(t *testing.T, c *Conn) Home {
	t.Helper()
	h, err := c.Probe(t.Context(), self(t))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// self is a real program: this test.
func self(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestAProgramIsCopiedOnceAndSpeaksWithTheHostOverItsSocket(t *testing.T) {
	m := startMachine(t)
	c := m.dial(t)
	h := m.probe(t, c)
	name, err := c.Install(t.Context(), h, self(t))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Install(t.Context(), h, self(t)); err != nil || again != name {
		t.Fatalf("the second copy: %q, %v", again, err)
	}
	after, err := os.Stat(name)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the program was copied twice: %v", err)
	}
	listener, socket, err := c.Listen(t.Context(), h, "ab")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		io.Copy(conn, conn)
		conn.Close()
	}()
	far, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	far.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(far, "hello")
	far.(*net.UnixConn).CloseWrite()
	if got, err := io.ReadAll(far); err != nil || string(got) != "hello" {
		t.Errorf("the host answered %q, %v", got, err)
	}
}

func TestAnotherUserThanRootGetsAProgramAndASocket(t *testing.T) {
	m := startMachine(t)
	m.Target.User = fmt.Sprintf("lstest%d", os.Getpid())
	if out, err := exec.Command("useradd", "-M", "-N", "-p", "*", "-s", "/bin/sh", m.Target.User).CombinedOutput(); err != nil {
		t.Fatalf("useradd: %s", out)
	}
	t.Cleanup(func() { exec.Command("userdel", "-f", m.Target.User).Run() })
	if out, err := exec.Command("chown", m.Target.User, m.home).CombinedOutput(); err != nil {
		t.Fatalf("chown: %s", out)
	}
	for _, open := range []string{filepath.Dir(m.home), filepath.Join(filepath.Dir(m.home), "authorized_keys")} {
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := m.dial(t)
	h := m.probe(t, c)
	if h.UID == "0" || h.Dir != m.home {
		t.Fatalf("the account is %+v", h)
	}
	if _, err := c.Install(t.Context(), h, self(t)); err != nil {
		t.Error(err)
	}
	l, socket, err := c.Listen(t.Context(), h, "ab")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Lstat(socket); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
}

func TestASocketLeftByALostConnectionIsRemoved(t *testing.T) {
	m := startMachine(t)
	lost := m.dial(t)
	_, old, err := lost.Listen(t.Context(), m.probe(t, lost), "ab")
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := lost.Listen(t.Context(), m.probe(t, lost), "cd")
	if err != nil {
		t.Fatal(err)
	}
	c := m.dial(t)
	l, _, err := c.Listen(t.Context(), m.probe(t, c), "ab")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := os.Lstat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old socket is still there: %v", err)
	}
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("another assistant's socket: %v", err)
	}
}

func TestADirectoryThatOthersCanEnterIsRefused(t *testing.T) {
	m := startMachine(t)
	c := m.dial(t)
	h := m.probe(t, c)
	run := filepath.Join(m.home, ".longshore/run")
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.Listen(t.Context(), h, "ab")
	wantFault(t, err, "other users of the machine could reach the socket")
}

func TestAMachineThatForbidsForwardingIsRefused(t *testing.T) {
	m := startMachine(t, "AllowStreamLocalForwarding no")
	c := m.dial(t)
	_, _, err := c.Listen(t.Context(), m.probe(t, c), "ab")
	wantFault(t, err, "forbids to forward a socket")
}

func TestAnAccountWithoutAShellIsRefused(t *testing.T) {
	m := startMachine(t, "ForceCommand internal-sftp")
	_, err := m.dial(t).Probe(t.Context(), self(t))
	wantFault(t, err, "no usable shell")
}

func TestAChangedHostKeyIsRefused(t *testing.T) {
	m := startMachine(t)
	other := m.NewKey(t, "other")
	m.Knows(t, other)
	_, err := Dial(t.Context(), m.Target)
	wantFault(t, err, "key has changed")
	sshtest.Write(t, m.Target.KnownHosts, "")
	_, err = Dial(t.Context(), m.Target)
	wantFault(t, err, "does not name")
}

func TestAFullDiskLeavesNoHalfProgram(t *testing.T) {
	m := startMachine(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", m.home).CombinedOutput(); err != nil {
		need.Lacking(t, "mount a small disk: %s", out)
	}
	t.Cleanup(func() { exec.Command("umount", m.home).Run() })
	c := m.dial(t)
	_, err := c.Install(t.Context(), m.probe(t, c), self(t))
	wantFault(t, err, "cannot copy agentrunner")
	if left, _ := os.ReadDir(filepath.Join(m.home, ".longshore/bin")); len(left) > 0 {
		t.Errorf("left on the disk: %v", left)
	}
}

// Only a keepalive notices a machine that answers no more: nothing closes the connection.
func TestAMachineThatFallsSilentLosesItsConnection(t *testing.T) {
	m := startMachine(t)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	silent := make(chan struct{})
	go relay(front, m.Target.Host, silent)
	_, key, _, _, err := knownLine(m.Target.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	sshtest.Write(t, m.Target.KnownHosts, knownhosts.Line([]string{front.Addr().String()}, key)+"\n")
	m.Target.Host = front.Addr().String()
	c, err := dial(t.Context(), m.Target, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	m.probe(t, c)
	close(silent)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-c.Done():
	case <-ctx.Done():
		t.Error("the connection is still open")
	}
}

// The daemon's end does not end sessions; the process of the connection is its child.
func TestAKilledSshdEndsTheConnectionAndTheListener(t *testing.T) {
	m := startMachine(t)
	c := m.dial(t)
	h := m.probe(t, c)
	l, socket, err := c.Listen(t.Context(), h, "ab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.command(t.Context(), time.Minute, "kill -9 $PPID", nil, answerBytes); err == nil {
		t.Error("the command's connection was not killed")
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener accepted from a dead connection")
	}
	<-c.Done()
	again := m.dial(t)
	l, _, err = again.Listen(t.Context(), h, "ab")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the killed connection's socket: %v", err)
	}
}

func knownLine(file string) (string, ssh.PublicKey, string, []byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, "", nil, err
	}
	_, hosts, key, comment, rest, err := ssh.ParseKnownHosts(text)
	return strings.Join(hosts, ","), key, comment, rest, err
}

// relay passes one connection on until silent is closed; then it swallows all bytes.
func relay(front net.Listener, to string, silent <-chan struct{}) {
	near, err := front.Accept()
	if err != nil {
		return
	}
	defer near.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	go pass(near, far, silent)
	pass(far, near, silent)
}

func pass(to, from net.Conn, silent <-chan struct{}) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-silent:
		default:
			to.Write(buf[:n])
		}
	}
}
