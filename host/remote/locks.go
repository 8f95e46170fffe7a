package remote

import (
	"sync"

	"github.com/longshore-bridge/longshore/host/remote/tokens"
)

// locks serialize the calls about one delivery. The zero locks has none.
type locks struct {
	mu sync.Mutex
	of map[string]*lock // by conversation and delivery
}

type lock struct {
	mu    sync.Mutex
	users int // that have it or wait for it; guarded by locks.mu
}

// take locks a delivery until done. A conversation does not wait for the ids of another one.
func (l *locks) take(who tokens.Identity, id string) (done func()) {
	id = who.Folder + "\x00" + who.Thread + "\x00" + id
	l.mu.Lock()
	if l.of == nil {
		l.of = map[string]*lock{}
	}
	one := l.of[id]
	if one == nil {
		one = &lock{}
		l.of[id] = one
	}
	one.users++
	l.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.of, id)
		}
	}
}
