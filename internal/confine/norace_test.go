//go:build !race

package confine

const (
	raceDetector = false
	testMemory   = 0 // the default
)
