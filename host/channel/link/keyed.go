package link

import (
	"context"
	"sync"
)

// Keyed is a set of locks, one for each key. Callers get a lock in the order in which they asked
// for it. The zero Keyed is ready.
type Keyed struct {
	mu    sync.Mutex
	locks map[string]*lock
}

type lock struct {
	held  chan struct{} // holds a value while the lock is taken
	users int           // callers that have the lock or wait for it
}

// Enter waits for the lock of a key, until ctx is done. The caller calls leave once.
func (k *Keyed) Enter(ctx context.Context, key string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := k.use(key)
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; k.end(key, l) }, nil
	case <-ctx.Done():
		k.end(key, l)
		return nil, ctx.Err()
	}
}

func (k *Keyed) use(key string) *lock {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locks == nil {
		k.locks = map[string]*lock{}
	}
	if k.locks[key] == nil {
		k.locks[key] = &lock{held: make(chan struct{}, 1)}
	}
	k.locks[key].users++
	return k.locks[key]
}

func (k *Keyed) end(key string, l *lock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.locks, key)
	}
}
