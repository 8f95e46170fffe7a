//go:build e2e

package stage

import (
	"bytes"
	"sync"
)

// LockedBuffer is a buffer for several writers.
type LockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *LockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *LockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// KillsEnv is how many times hosts are killed at random.
const KillsEnv = "LONGSHORE_TEST_KILLS"
