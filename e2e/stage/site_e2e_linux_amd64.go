//go:build e2e

package stage

// KillsEnv is how many times hosts are killed at random.
const KillsEnv = "LONGSHORE_TEST_KILLS"
