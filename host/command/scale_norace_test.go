//go:build !race

package command

// backlog is how many requests a host has to drain.
const backlog = 10_000

const raceDetector = false
