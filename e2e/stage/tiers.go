//go:build !e2e

package stage

import (
	"testing"
)

func ifTracer() {}

// Run runs the tests.
func Run(m *testing.M) int {
	return m.Run()
}
