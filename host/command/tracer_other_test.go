//go:build !(linux && amd64)

package command

// The tracer knows the system calls of Linux on amd64 only.
const tracerEnv = "LONGSHORE_TEST_TRACER"

func mainTracer(string) int { return 1 }
