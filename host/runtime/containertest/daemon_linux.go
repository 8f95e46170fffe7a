package containertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockWait is how long a test waits for other test processes that use the
// engines' directories.
const lockWait = 15 * time.Minute

// places is how many engines of a kind run at a time, each for a test process of its
// own: as many packages as "go test" runs on two processors.
const places = 2

// daemon is an engine that this process has started.
type daemon struct {
	kind   kind
	lock   *os.File
	run    string // a short path, because the path of a socket must be short
	data   string // the engine's data
	engine *process
}

// kind is one sort of engine.
type kind struct {
	program string
	from    string // Debian's package of the program
	data    string // below the cache
	lock    string
	args    func(*daemon) []string
	clear   func(*daemon) error // before the start, may be nil
	end     func(*daemon)       // before the end, may be nil
}

// dockerd is Debian's Docker.
var dockerd = kind{ //nolint:gochecknoglobals // a constant
	program: "dockerd", from: "docker.io", data: "engine", lock: "lock",
	args: func(d *daemon) []string {
		return []string{
			"--data-root", d.data, "--exec-root", filepath.Join(d.run, "x"), "-H", d.host(), "-p", filepath.Join(d.run, "pid"),
			"--bridge=none", "--iptables=false", "--ip6tables=false",
		}
	},
}

// cacheDir returns the directory for everything that takes long to make.
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
	if podmanWanted() {
		return podman.start()
	}
	return dockerd.start()
}

// start starts an engine. If engines of this kind run in all places, it waits until a
// test process has ended its own.
func (k kind) start() (*daemon, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("none answers, and only root can start one")
	}
	path, err := exec.LookPath(k.program)
	if err != nil {
		return nil, fmt.Errorf("none answers, and there is no %s to start; install %s", k.program, k.from)
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	locks := make([]string, places)
	for i := range locks {
		locks[i] = filepath.Join(cache, k.lock+placeName(i))
	}
	d := &daemon{kind: k}
	var place int
	if d.lock, place, err = lockOne(locks...); err != nil {
		return nil, err
	}
	d.data = filepath.Join(cache, k.data+placeName(place))
	pidFile := filepath.Join(cache, k.program+placeName(place)+".pid")
	if err := endLeft(pidFile, d.data); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	if d.run, err = os.MkdirTemp("", "lse"); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	logFile := filepath.Join(cache, k.program+placeName(place)+".log")
	if err := d.spawn(path, logFile); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	if err := errors.Join(os.WriteFile(pidFile, []byte(strconv.Itoa(d.engine.pid)), 0o644), d.engine.ready(d.getenv)); err != nil {
		d.stop()
		return nil, fmt.Errorf("%w; see %s", err, logFile)
	}
	return d, nil
}

// spawn starts the engine's program.
func (d *daemon) spawn(path, logFile string) error {
	if d.kind.clear != nil {
		if err := d.kind.clear(d); err != nil {
			return err
		}
	}
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(path, d.kind.args(d)...)
	cmd.Dir = d.run
	cmd.Stdout, cmd.Stderr = log, log
	d.engine, err = startProcess(cmd, d.kind.program)
	return err
}

func (d *daemon) host() string { return "unix://" + filepath.Join(d.run, "s") }

func (d *daemon) getenv(name string) string { return only(d.host())(name) }

// stop ends the engine and everything that runs in it.
func (d *daemon) stop() {
	if d.kind.end != nil {
		d.kind.end(d)
	}
	d.engine.end(syscall.SIGTERM)
	clearAway(d.run, d.data)
	d.lock.Close()
}

// placeName is what the names of a place's files end with. The first place has the names
// of the time when there was one.
func placeName(place int) string {
	if place == 0 {
		return ""
	}
	return strconv.Itoa(place + 1)
}

// lockFile waits until no other test process has the lock.
func lockFile(path string) (*os.File, error) {
	f, _, err := lockOne(path)
	return f, err
}

// lockOne waits until no other test process has one of the locks, and returns which.
func lockOne(paths ...string) (_ *os.File, which int, _ error) {
	deadline := time.Now().Add(lockWait)
	for {
		for i, path := range paths {
			f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return nil, 0, err
			}
			if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
				return f, i, nil
			}
			f.Close()
			if time.Now().After(deadline) {
				return nil, 0, fmt.Errorf("another test process keeps its engine: lock %s: %w", path, err)
			}
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the kernel does not notify anybody of a free lock
	}
}

// endLeft ends the engine of a test process that was killed. It only ends a
// process whose command line names our directory.
func endLeft(pidFile, data string) error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return os.Remove(pidFile)
	}
	deadline := time.Now().Add(30 * time.Second)
	for sig := syscall.SIGTERM; ; {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(line, []byte(data+"\x00")) {
			os.Remove(pidFile)
			return nil
		}
		syscall.Kill(pid, sig)
		if time.Now().After(deadline) {
			return fmt.Errorf("engine %d of an earlier test does not end", pid)
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // not our child, so there is no notice of its end
	}
}
