// Package sshtest provides tests with another machine: Debian's sshd on loopback, with
// keys, settings and a home directory of its own. If sshd does not start here, a test is
// skipped, or fails if LONGSHORE_TEST_ALL is set. Only tests of the second tier use this
// package.
package sshtest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/longshore-bridge/longshore/internal/need"
)

// Machine is an account of root on a machine that a test may end.
type Machine struct {
	Host       string // address, with the port
	User       string
	Key        string // file of the account's private key
	KnownHosts string // file that names the machine's key
	Home       string // the account's home directory
	Sshd       *exec.Cmd

	dir string
}

// Start starts a machine, which ends with the test. settings are further lines of
// sshd_config.
func Start(t testing.TB, settings ...string) *Machine {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if os.Getuid() != 0 {
		need.Lacking(t, "serve ssh: this is not root")
	}
	dir, err := os.MkdirTemp("/tmp", "ls") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &Machine{dir: dir, Host: FreeAddress(t), User: "root", Key: filepath.Join(dir, "user"), KnownHosts: filepath.Join(dir, "known_hosts"), Home: filepath.Join(dir, "home")}
	for _, d := range []string{"/run/sshd", m.Home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.Knows(t, m.NewKey(t, "host"))
	Write(t, m.path("authorized_keys"), string(ssh.MarshalAuthorizedKey(m.NewKey(t, "user"))))
	_, port, _ := net.SplitHostPort(m.Host)
	Write(t, m.path("sshd_config"), fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nSetEnv HOME=%s\n%s\n",
		port, m.path("host"), m.path("authorized_keys"), m.Home, strings.Join(settings, "\n")))
	m.Sshd = exec.Command(sshd, "-D", "-e", "-f", m.path("sshd_config"))
	log := &bytes.Buffer{}
	m.Sshd.Stderr, m.Sshd.WaitDelay = log, time.Second
	if err := m.Sshd.Start(); err != nil {
		need.Lacking(t, "serve ssh: %v; install openssh-server", err)
	}
	ended := make(chan struct{})
	go func() {
		m.Sshd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		m.Sshd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	tick := time.Tick(5 * time.Millisecond)
	for {
		c, err := net.Dial("tcp", m.Host)
		if err == nil {
			c.Close()
			return m
		}
		select {
		case <-tick:
		case <-ended:
			need.Lacking(t, "serve ssh: sshd ends at once: %s", log.String())
		}
	}
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

// Knows makes KnownHosts name this key, and no other, for the machine.
func (m *Machine) Knows(t testing.TB, key ssh.PublicKey) {
	t.Helper()
	Write(t, m.KnownHosts, knownhosts.Line([]string{m.Host}, key)+"\n")
}

// NewKey makes a key in the machine's directory.
func (m *Machine) NewKey(t testing.TB, name string) ssh.PublicKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	Write(t, m.path(name), string(pem.EncodeToMemory(block)))
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// FreeAddress is an address of loopback at which nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Write writes a file for its owner alone.
func Write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
