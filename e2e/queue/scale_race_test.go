//go:build race

package queue

// backlog is how many requests a host has to drain; the race detector makes each ten
// times as expensive.
const backlog = 1000
