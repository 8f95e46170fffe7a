//go:build e2e && race

package stage

// RaceDetector says whether the race detector is on: memory and time are then not what
// they are without it.
const RaceDetector = true
