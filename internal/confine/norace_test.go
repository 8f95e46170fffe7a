//go:build !race

package confine

const (
	raceDetector = false
	testMemory   = 4 << 30 // the runtime reserves most of the default's addresses; "allocate" asks for twice this
)
