package calls

import "sync"

// locks serialize the calls about one delivery. The zero locks has none.
type locks struct {
	mu sync.Mutex
	of map[string]*lock // by conversation and delivery
}

type lock struct {
	mu    sync.Mutex
	users int // that have it or wait for it; guarded by locks.mu
}

// take locks a name until unlock is called.
func (l *locks) take(name string) (unlock func()) {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[string]*lock{}
	}
	one := l.of[name]
	if one == nil {
		one = &lock{}
		l.of[name] = one
	}
	one.users++
	l.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.of, name)
		}
	}
}
