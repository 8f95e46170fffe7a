package main

import (
	"sync"

	"github.com/longshore-bridge/longshore/host/outbox"
)

// updates keeps what the outbox tells of its deliveries until somebody takes
// it: of each the newest state, in the order of their first change. It knows
// nobody, so that the outbox can be opened on it.
type updates struct {
	wake chan struct{} // of capacity one; holds a word after each put

	mu      sync.Mutex
	pending map[string]outbox.Delivery // by key
	order   []string                   // keys
	changed map[string]bool            // keys that were put while the past is recalled; nil afterwards
}

func newUpdates() *updates {
	return &updates{wake: make(chan struct{}, 1), pending: map[string]outbox.Delivery{}, changed: map[string]bool{}}
}

// put is the outbox's OnUpdate. It returns at once.
func (u *updates) put(d outbox.Delivery) {
	u.mu.Lock()
	if u.changed != nil {
		u.changed[d.Key] = true
	}
	u.add(d)
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *updates) add(d outbox.Delivery) {
	if _, ok := u.pending[d.Key]; !ok {
		u.order = append(u.order, d.Key)
	}
	u.pending[d.Key] = d
}

// recall adds a delivery of the past, unless what was put meanwhile is newer.
func (u *updates) recall(d outbox.Delivery) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.changed[d.Key] {
		u.add(d)
	}
}

// recalled says that the past has been recalled.
func (u *updates) recalled() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed = nil
}

// take empties the list.
func (u *updates) take() []outbox.Delivery {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]outbox.Delivery, 0, len(u.order))
	for _, key := range u.order {
		all = append(all, u.pending[key])
	}
	clear(u.pending)
	u.order = nil
	return all
}
