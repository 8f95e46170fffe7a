//go:build !(linux && amd64)

package command

// The tracer knows the system calls of Linux on amd64 only.
const tracerEnv = "LONGSHORE_TEST_TRACER"

func mainTracer(string) int { return 1 }

func (s *site) operations(func() bool) map[string]int { return nil }
