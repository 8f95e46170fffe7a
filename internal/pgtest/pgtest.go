// Package pgtest starts Debian's PostgreSQL for tests. A server ends with its test, and with the
// test's process if that is killed.
package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/need"
)

// Server is a PostgreSQL of the test's own, behind a socket in Dir and a port of the loopback
// interface. Its superuser is longshore, its database postgres, and it asks for no password.
type Server struct {
	Dir  string
	Port int

	t     testing.TB
	bin   string
	with  []string // further settings
	run   *exec.Cmd
	ended chan error // how run ended
	log   bytes.Buffer
	end   func() // ends the run's watcher
}

// Start makes a cluster, as a copy of one in the user's cache directory, and starts its server until
// the test ends. Settings are such as "max_connections=20".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return StartIn(t, Dir(t), settings...)
}

// Dir makes a directory for a server, until the test ends.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "longshore-pg-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// StartIn is Start in a directory such as Dir makes.
func StartIn(t testing.TB, dir string, settings ...string) *Server {
	t.Helper()
	s := &Server{Dir: dir, t: t, bin: programs(t), with: settings}
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		if err := os.Chown(s.Dir, int(owner(t).Uid), int(owner(t).Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.makeCluster(); err != nil {
		t.Fatal(err)
	}
	s.Port = freePort(t)
	s.ends()
	s.Again()
	return s
}

// ends stops the server when the test ends.
func (s *Server) ends() {
	s.t.Cleanup(func() {
		if s.run != nil {
			s.Stop(syscall.SIGINT)
		}
	})
}

// programs is the directory of the newest server's programs.
func programs(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, real)
		}
	}
	if len(found) == 0 {
		need.Lacking(t, "run PostgreSQL: initdb is not installed")
	}
	return filepath.Dir(found[len(found)-1])
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// owner is the user that PostgreSQL runs as if the test is root's.
func owner(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		need.Lacking(t, "run PostgreSQL as root: it has no user postgres or nobody")
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// Command is one of PostgreSQL's programs, as the user that it runs as.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Env = s.Dir, []string{"LC_ALL=C", "HOME=" + s.Dir, "PATH=" + os.Getenv("PATH")}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner(s.t)}
	}
	return cmd
}

// Again starts the server after Stop.
func (s *Server) Again() {
	s.t.Helper()
	args := []string{"-D", s.data(), "-k", s.Dir, "-p", strconv.Itoa(s.Port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"}
	for _, one := range s.with {
		args = append(args, "-c", one)
	}
	run := s.Command("postgres", args...)
	run.Stdout, run.Stderr = &s.log, &s.log
	if err := run.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	s.run, s.ended, s.end = run, ended, func() {}
	go func() { ended <- run.Wait() }()
	s.watch()
	for over := time.Now().Add(2 * time.Minute); s.Command("pg_isready", "-h", s.Dir, "-p", strconv.Itoa(s.Port)).Run() != nil; {
		if time.Now().After(over) {
			s.t.Fatalf("postgres does not answer:\n%s", s.log.String())
		}
	}
}

// Stop ends the server: SIGINT is a fast shutdown, SIGQUIT an immediate one, which recovers
// at the next start.
func (s *Server) Stop(how syscall.Signal) {
	s.t.Helper()
	_ = s.run.Process.Signal(how)
	if err := <-s.ended; err != nil && how == syscall.SIGINT {
		s.t.Errorf("postgres: %v\n%s", err, s.log.String())
	}
	s.end()
	s.run = nil
}

// Revive starts the server again if it has ended by itself.
func (s *Server) Revive() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		s.t.Logf("postgres had ended: %v", err)
		s.Again()
	default:
	}
}

// URL is the connection string of a database, over the socket.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("host=%s port=%d user=longshore dbname=%s", s.Dir, s.Port, database)
}

// File writes the connection string of a database into a file of the test.
func (s *Server) File(database string) string {
	s.t.Helper()
	return Write(s.t, s.URL(database))
}

// Write writes a connection string into a file of the test.
func Write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "postgres")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Psql hands statements to psql as the superuser, and returns what it prints. It does not stop
// at errors.
func (s *Server) Psql(database, script string) (out, errs string) {
	s.t.Helper()
	cmd := s.Command("psql", "-X", "-q", "-At", "-h", s.Dir, "-p", strconv.Itoa(s.Port), "-U", "longshore", "-d", database, "-v", "ON_ERROR_STOP=0", "-f", "-")
	cmd.Stdin = bytes.NewReader([]byte(script + "\n"))
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("psql: %v\n%s", err, e.String())
	}
	return o.String(), e.String()
}
