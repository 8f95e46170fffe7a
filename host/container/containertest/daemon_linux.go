package containertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/host/container/docker"
)

// lockWait is how long another test process may keep the engine's directory.
const lockWait = 15 * time.Minute

// daemon is an engine of this process's own.
type daemon struct {
	lock   *os.File
	run    string // a short path, because a socket's may not be long
	pid    int
	exited chan struct{}
}

// cacheDir is where what takes long is kept.
func cacheDir() (string, error) {
	if dir := os.Getenv("LONGSHORE_TEST_CACHE"); dir != "" {
		return dir, os.MkdirAll(dir, 0o755)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(user, "longshore-test")
	return dir, os.MkdirAll(dir, 0o755)
}

func startDaemon() (*daemon, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("none answers, and only root can start one")
	}
	path, err := exec.LookPath("dockerd")
	if err != nil {
		return nil, errors.New("none answers, and there is no dockerd to start; install docker.io")
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	d := &daemon{exited: make(chan struct{})}
	if d.lock, err = lockFile(filepath.Join(cache, "lock")); err != nil {
		return nil, err
	}
	pidFile := filepath.Join(cache, "dockerd.pid")
	if err := endLeft(pidFile, cache); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	if d.run, err = os.MkdirTemp("", "lse"); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	log, err := os.Create(filepath.Join(cache, "dockerd.log"))
	if err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	defer log.Close()
	cmd := exec.Command(path,
		"--data-root", filepath.Join(cache, "engine"), "--exec-root", filepath.Join(d.run, "x"), "-H", d.host(), "-p", pidFile,
		"--bridge=none", "--iptables=false", "--ip6tables=false")
	cmd.Stdout, cmd.Stderr = log, log
	// It goes with this process, also when that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := make(chan error, 1)
	go func() {
		defer close(d.exited)
		runtime.LockOSThread() // the kernel's signal is for the end of the thread
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	d.pid = cmd.Process.Pid
	if err := d.ready(); err != nil {
		d.stop()
		return nil, fmt.Errorf("%w; see %s", err, log.Name())
	}
	return d, nil
}

func (d *daemon) host() string { return "unix://" + filepath.Join(d.run, "s") }

// getenv is an environment that names this engine and nothing else.
func (d *daemon) getenv(name string) string {
	if name == "DOCKER_HOST" {
		return d.host()
	}
	return ""
}

func (d *daemon) ready() error {
	deadline := time.Now().Add(time.Minute)
	for {
		e, err := docker.Connect(context.Background(), d.getenv)
		if err == nil {
			return e.Close()
		}
		select {
		case <-d.exited:
			return errors.New("dockerd ended at once")
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dockerd does not get ready: %w", err)
		}
	}
}

// stop ends the engine, with whatever runs in it.
func (d *daemon) stop() {
	syscall.Kill(d.pid, syscall.SIGTERM)
	select {
	case <-d.exited:
	case <-time.After(30 * time.Second):
		syscall.Kill(d.pid, syscall.SIGKILL)
		<-d.exited
	}
	os.RemoveAll(d.run)
	d.lock.Close()
}

// lockFile waits until no other test process has the lock.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(lockWait)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("another test process keeps its engine: lock %s: %w", path, err), f.Close())
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the kernel tells nobody when a lock is free
	}
}

// endLeft ends the engine of a test process that was killed, if it is one: its
// command line must name our directory.
func endLeft(pidFile, cache string) error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return os.Remove(pidFile)
	}
	mine := []byte(filepath.Join(cache, "engine"))
	deadline := time.Now().Add(30 * time.Second)
	for sig := syscall.SIGTERM; ; {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(line, mine) {
			os.Remove(pidFile)
			return nil
		}
		syscall.Kill(pid, sig)
		if time.Now().After(deadline) {
			return fmt.Errorf("engine %d of an earlier test does not end", pid)
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // no child of ours, so nothing tells of its end
	}
}
