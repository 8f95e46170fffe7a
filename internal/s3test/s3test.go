// Package s3test runs versitygw, an S3 service that nobody here wrote, for tests. Only tests of the
// second tier (tag e2e) import it.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/need"
)

const (
	version = "v1.8.0"
	module  = "github.com/versity/versitygw/cmd/versitygw@" + version

	// Key and Secret are those of the service's root.
	Key, Secret = "longshore", "not-a-secret-of-anybody"
	// Bucket is there when the service is.
	Bucket = "files"
)

// Program returns the path of versitygw, which the go command builds once, into LONGSHORE_S3 or the
// user's cache directory. If it cannot be built, Program ends the test by need.Lacking.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program(t.Context())
	if err != nil {
		need.Lacking(t, "build versitygw: %v", err)
	}
	return path
}

func program(ctx context.Context) (string, error) {
	cache := os.Getenv("LONGSHORE_S3")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "longshore-test")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(cache, "versitygw-"+version)
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { // several tests build at once
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	temp, err := os.MkdirTemp(cache, ".build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags", "-s -w", module) // a module of its own, outside of ours
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+temp, "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install: %w\n%s", err, out)
	}
	return path, os.Rename(filepath.Join(temp, "versitygw"), path)
}

// Server is a running service on the loopback.
type Server struct {
	Address string // host:port
	Dir     string // has a directory a bucket, in which each object is a file

	t    testing.TB
	path string
	stop func()
}

// Start starts a service whose objects are files below a temporary directory. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, path: Program(t), Dir: t.TempDir(), stop: func() {}}
	if err := os.Mkdir(filepath.Join(s.Dir, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		t.Fatal(err)
	}
	s.Address = l.Addr().String()
	l.Close()
	s.Restart()
	t.Cleanup(func() { s.Stop() })
	return s
}

// Stop kills the service.
func (s *Server) Stop() { s.stop() }

// Restart starts the service again at the same address.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	log, err := os.CreateTemp(s.t.TempDir(), "log")
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.path, "--port", s.Address, "--access", Key, "--secret", Secret, "--region", "us-east-1", "posix", s.Dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	if err := s.answers(ended); err != nil {
		said, _ := os.ReadFile(log.Name())
		s.t.Fatalf("versitygw does not start: %v\n%s", err, said)
	}
}

// answers waits until the service answers, or has ended.
func (s *Server) answers(ended chan error) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/", http.NoBody)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			return res.Body.Close()
		}
		select {
		case err := <-ended:
			ended <- err
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
