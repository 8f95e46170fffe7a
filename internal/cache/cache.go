// Package cache remembers a bounded number of values in memory.
package cache

import (
	"maps"
	"sync"
)

// Most is how many values a Map remembers.
const Most = 10_000

// Map remembers up to Most values. If it is full, a new value takes the place of any other one, so
// it holds only what its user can do without, or learn again. The zero Map is ready. Its methods may
// be called concurrently.
type Map[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

// Get returns the value of a key; ok is false if there is none.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok = m.all[key]
	return value, ok
}

// Set remembers a value.
func (m *Map[K, V]) Set(key K, value V) {
	m.Change(key, func(V, bool) V { return value })
}

// Change replaces the value of a key by what change returns for it. It returns what was there before.
func (m *Map[K, V]) Change(key K, change func(old V, ok bool) V) (old V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[K]V{}
	}
	if old, ok = m.all[key]; !ok && len(m.all) >= Most {
		for other := range m.all {
			delete(m.all, other)
			break
		}
	}
	m.all[key] = change(old, ok)
	return old, ok
}

// Delete forgets the value of a key.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// Clear forgets all values.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = nil
}

// All returns a copy of the values.
func (m *Map[K, V]) All() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.all)
}
