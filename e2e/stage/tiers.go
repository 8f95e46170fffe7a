//go:build !e2e

package stage

import (
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

func ifTracer() {}

// inMemory has installations lie where no sync waits for a disk.
func inMemory() { fstest.Memory() }

// Run runs the tests.
func Run(m *testing.M) int {
	return m.Run()
}
