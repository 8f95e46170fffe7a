package link

import (
	"context"
	"sync"
)

// Keyed is a set of locks, one for each key. The zero Keyed is ready.
type Keyed struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the holder leaves
}

// Enter waits for the lock of a key, until ctx is done. The caller calls leave.
func (l *Keyed) Enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		busy := l.take(key)
		if busy == nil {
			return func() { l.leave(key) }, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take takes the lock of a key, or returns a channel that is closed when its holder leaves.
func (l *Keyed) take(key string) (busy <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if done := l.held[key]; done != nil {
		return done
	}
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	l.held[key] = make(chan struct{})
	return nil
}

func (l *Keyed) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[key])
	delete(l.held, key)
}
