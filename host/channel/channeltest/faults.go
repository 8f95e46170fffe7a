package channeltest

import (
	"maps"
	"sync"
	"testing"
	"time"
)

// Faults are how requests to a loopback server go wrong, one server's kind of fault each,
// and how many came. Its methods may be called concurrently; the zero Faults is ready.
type Faults[F any] struct {
	mu     sync.Mutex
	next   map[string][]F
	always map[string]F
	calls  map[string]int
	news   chan struct{} // closed with each change; nil: nobody waits
}

// Next tells how the coming requests of a kind go, one fault each.
func (f *Faults[F]) Next(kind string, faults ...F) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = map[string][]F{}
	}
	f.next[kind] = append(f.next[kind], faults...)
}

// Always tells how all other requests of a kind go from now on.
func (f *Faults[F]) Always(kind string, fault F) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.always == nil {
		f.always = map[string]F{}
	}
	f.always[kind] = fault
}

// Take counts a request, and says how it goes.
func (f *Faults[F]) Take(kind string) F {
	f.Count(kind)
	f.mu.Lock()
	defer f.mu.Unlock()
	if next := f.next[kind]; len(next) > 0 {
		f.next[kind] = next[1:]
		return next[0]
	}
	return f.always[kind]
}

// Count counts what happened.
func (f *Faults[F]) Count(kind string) {
	defer f.Changed()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[kind]++
}

// Calls is how many requests of a kind have come, refused ones too.
func (f *Faults[F]) Calls(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[kind]
}

// Changed wakes those that wait.
func (f *Faults[F]) Changed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// News is closed with the next change.
func (f *Faults[F]) News() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news == nil {
		f.news = make(chan struct{})
	}
	return f.news
}

// Wait waits until a condition holds, which may call the server, and says what it waited
// for if that takes 60 seconds.
func (f *Faults[F]) Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	patience := time.After(60 * time.Second)
	for {
		news := f.News()
		if holds() {
			return
		}
		select {
		case <-news:
		case <-patience:
			f.mu.Lock()
			calls := maps.Clone(f.calls)
			f.mu.Unlock()
			t.Fatalf("the server still waits for: %s; calls %v", what, calls)
		}
	}
}
