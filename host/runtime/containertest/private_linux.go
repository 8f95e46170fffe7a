package containertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// Private is an engine for one test only. The test may kill it, start it again,
// and give it flags that would break other tests. Its data is in the cache
// beside the shared engine's; one test uses it at a time.
type Private struct {
	t      testing.TB
	run    string // holds the socket and files that live as long as the engine
	data   string
	before []string // the command that starts the engine
	flags  []string
	engine *process // nil: the engine does not run
}

// NewPrivate starts an engine with the given flags. The engine always has no
// outside network, and has its own socket unless the flags name another
// address. The end of the test ends the engine and everything that runs in it.
func NewPrivate(t testing.TB, flags ...string) *Private {
	t.Helper()
	p := newPrivate(t, flags)
	p.Start()
	return p
}

// NewRemapped starts an engine that maps its containers' users to other users
// of the machine, unless a container turns that off. The ranges of those users
// are in files that only this engine sees in place of the machine's.
func NewRemapped(t testing.TB) *Private {
	t.Helper()
	p := newPrivate(t, []string{"--bridge=none", "--userns-remap=nobody:nogroup"})
	p.data = filepath.Join(p.run, "data") // the cache may be in a home directory that those users cannot enter
	p.before = p.withRanges("nobody:400000:65536\nnogroup:400000:65536\n")
	p.Start()
	return p
}

// Nobody is the user and group that a rootless engine runs as.
const Nobody = 65534

// NewRootless starts an engine as the user Nobody, with the host's network and
// its own data. It needs Debian's rootlesskit and uidmap.
func NewRootless(t testing.TB) *Private {
	t.Helper()
	for _, program := range []string{"rootlesskit", "newuidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			unavailable(t, fmt.Errorf("there is no %s; install rootlesskit and uidmap", program))
		}
	}
	p := newPrivate(t, []string{"--bridge=none", "--rootless"})
	p.data = filepath.Join(p.run, "data")
	if err := os.Chown(p.run, Nobody, Nobody); err != nil {
		t.Fatal(err)
	}
	p.before = append(p.withRanges("nobody:400000:65536\n"),
		"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME="+p.run, "XDG_RUNTIME_DIR="+p.run,
		"rootlesskit", "--net=host", "--copy-up=/etc", "--copy-up=/run", "--state-dir="+filepath.Join(p.run, "kit"),
		"sh", "-c", `rm -f /run/docker /run/containerd /run/xtables.lock; exec "$@"`, "sh", // links to those of the machine's engine
	)
	p.Start()
	return p
}

// withRanges returns the start of a command that sees the given lines in place
// of the machine's ranges of users and groups.
func (p *Private) withRanges(lines string) []string {
	p.t.Helper()
	file := filepath.Join(p.run, "ranges")
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return []string{"unshare", "--mount", "sh", "-c", `touch /etc/subuid /etc/subgid && mount --bind "$0" /etc/subuid && mount --bind "$0" /etc/subgid && cd / && exec "$@"`, file}
}

func newPrivate(t testing.TB, flags []string) *Private {
	t.Helper()
	if os.Geteuid() != 0 {
		unavailable(t, errors.New("only root can start one"))
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		unavailable(t, errors.New("there is no dockerd to start; install docker.io"))
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := lockFile(filepath.Join(cache, "private.lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	p := &Private{t: t, data: filepath.Join(cache, "private"), flags: flags}
	if p.run, err = os.MkdirTemp("", "lsp"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clearAway(p.run, p.data) })
	if err := os.Chmod(p.run, 0o711); err != nil { // the mode of the socket decides who may use it
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(syscall.SIGTERM) })
	return p
}

// Start starts the engine, which must not be running, and waits until it
// answers.
func (p *Private) Start() {
	p.t.Helper()
	log, err := os.OpenFile(filepath.Join(p.run, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	args := slices.Concat(p.before, []string{
		"dockerd", "--data-root", p.data, "--exec-root", filepath.Join(p.run, "x"), "-p", filepath.Join(p.run, "pid"), "-H", p.Host(),
		"--iptables=false", "--ip6tables=false",
	}, p.flags)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if p.engine, err = startProcess(cmd, "dockerd"); err != nil {
		p.t.Fatal(err)
	}
	if err := p.engine.ready(p.Getenv); err != nil {
		p.End(syscall.SIGKILL)
		said, _ := os.ReadFile(log.Name())
		unavailable(p.t, fmt.Errorf("%w\n%s", err, said[max(0, len(said)-3000):]))
	}
}

// End sends the engine a signal, if it runs, and waits until it has ended.
func (p *Private) End(sig syscall.Signal) {
	if p.engine == nil {
		return
	}
	if !p.engine.end(sig) {
		p.t.Errorf("the engine did not end by %v", sig)
	}
	p.engine = nil
	// The kernel kills the engine's containerd with it, but that process is not
	// our child. If nobody collects it at once, the next engine would wait for
	// it.
	os.Remove(filepath.Join(p.run, "x/containerd/containerd.pid"))
}

// Host returns the engine's address in the form of DOCKER_HOST.
func (p *Private) Host() string { return "unix://" + p.Socket() }

// Socket returns the path of the engine's socket.
func (p *Private) Socket() string { return filepath.Join(p.run, "s") }

// Getenv is an environment that only names this engine.
func (p *Private) Getenv(name string) string { return only(p.Host())(name) }

// Connect returns a connection. The end of the test closes it.
func (p *Private) Connect() *docker.Engine {
	p.t.Helper()
	e, err := docker.Connect(p.t.Context(), p.Getenv)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { e.Close() })
	return e
}

// API returns a client of the engine's own API, for functions that
// docker.Engine lacks. The end of the test closes it.
func (p *Private) API() *client.Client {
	p.t.Helper()
	api, err := client.New(client.WithHost(p.Host()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { api.Close() })
	return api
}
