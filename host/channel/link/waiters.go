package link

import "sync"

// Waiters are callers that wait for an answer with an id. The zero Waiters is ready.
type Waiters[T any] struct {
	mu sync.Mutex
	by map[string]chan T
}

// Expect returns the channel on which the answer with that id arrives, until
// end is called. Only one caller may wait for an id at a time.
func (w *Waiters[T]) Expect(id string) (answer <-chan T, end func()) {
	c := make(chan T, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string]chan T{}
	}
	w.by[id] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.by[id] == c {
			delete(w.by, id)
		}
	}
}

// Tell passes an answer on. It discards the answer if nobody waits for it, or
// if there was one before. It never blocks.
func (w *Waiters[T]) Tell(id string, answer T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.by[id] <- answer: // nobody: nil, and the default
	default:
	}
}
