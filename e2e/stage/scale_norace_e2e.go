//go:build e2e && !race

package stage

const RaceDetector = false
