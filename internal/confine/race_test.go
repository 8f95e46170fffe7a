//go:build race

package confine

// testMemory is what this binary needs as a confined program: the race detector
// reserves terabytes of addresses.
const (
	raceDetector = true
	testMemory   = 1 << 60
)
