//go:build race

package command

// backlog is how many requests a host has to drain; the race detector makes
// each ten times as expensive.
const backlog = 1000

// raceDetector says that memory and time are not what they are without it.
const raceDetector = true
