//go:build e2e

package stage

import (
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// ifTracer becomes the tracer of a host, if a test asked for it.
func ifTracer() {
	if spec := os.Getenv(tracerEnv); spec != "" {
		os.Exit(mainTracer(spec))
	}
}

// inMemory does nothing: the second tier wants a real disk, and mounts that a host takes.
func inMemory() {}

// Run runs the tests, and stops the container engine that they started.
func Run(m *testing.M) int {
	return containertest.Main(m)
}
