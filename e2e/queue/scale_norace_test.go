//go:build !race

package queue

// backlog is how many requests a host has to drain.
const backlog = 10_000
