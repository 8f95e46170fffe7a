// Package containertest provides tests with a container engine and images for
// it, on a machine that needs no more than Debian's docker.io and debootstrap.
//
// An engine that answers in the usual places is used. If none does, the first
// test of a process that asks for one starts an engine, which [Main] stops
// again. Everything that takes long is kept in a cache, with a place for each of
// two processes at a time:
//
//	$LONGSHORE_TEST_CACHE or <user cache>/longshore-test/
//	  base.tar      a Debian by debootstrap
//	  lock          held by the process whose engine runs in the first place
//	  engine/       that engine's data: the images of earlier runs
//	  dockerd.pid   that engine
//	  lock2, engine2/, dockerd2.pid   the same for the second place
//	  podman…       the same for Podman, see [OnPodman]
//	  private…      the same for the engine of a single test, see [Private]; one at a time
//
// An engine counts if a container starts there. A test that cannot have one is
// skipped, or fails if LONGSHORE_TEST_ALL is set. Only tests of the second tier use
// this package.
package containertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/need"
)

// Network is the network that a container needs to reach the tests' servers on
// loopback. The engine that tests start has no bridge.
const Network = "host"

// world is shared by the tests of one process.
type world struct {
	once   sync.Once
	err    error
	engine *docker.Engine
	host   string
	own    *daemon // nil: the engine is not ours

	images sync.Mutex // one build at a time
}

var shared world //nolint:gochecknoglobals // as long-lived as the test process

// Main runs a package's tests and then stops the engine, if one was started:
//
//	func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if shared.engine != nil {
		shared.engine.Close()
	}
	if shared.own != nil {
		shared.own.stop()
	}
	return code
}

// Engine returns a connection to the engine, which belongs to the process and has
// the base image, and the engine's address in the form of DOCKER_HOST.
func Engine(t testing.TB) (*docker.Engine, string) {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.find() })
	if shared.err != nil {
		unavailable(t, shared.err)
	}
	return shared.engine, shared.host
}

func unavailable(t testing.TB, err error) {
	t.Helper()
	need.Lacking(t, "run a container: %v", err)
}

func (w *world) find() (err error) {
	var none *docker.NoEngineError
	if !podmanWanted() {
		w.engine, err = connect(nil)
	}
	if podmanWanted() || errors.As(err, &none) {
		if w.own, err = startDaemon(); err != nil { // waits for the engine of another test process
			return err
		}
		w.engine, err = connect(w.own.getenv)
	}
	if err != nil {
		return err
	}
	w.host = w.engine.Facts().Host
	return starts(context.Background(), w.engine)
}

func connect(getenv func(string) string) (*docker.Engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return docker.Connect(ctx, getenv)
}
