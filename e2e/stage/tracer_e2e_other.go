//go:build e2e && !(linux && amd64)

package stage

// tracerEnv is the tracer's, which knows the system calls of Linux on amd64 only.
const tracerEnv = "LONGSHORE_TEST_TRACER"

// mainTracer fails.
func mainTracer(string) int { return 1 }

// Operations counts nothing.
func (s *Site) Operations(func() bool) map[string]int { return nil }
