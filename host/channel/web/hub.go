package web

import (
	"maps"
	"slices"
	"sync"
)

// hub wakes the pages of a chat. It keeps no messages: a page that wakes asks
// the history for what lies behind its own last one, so a slow page misses
// nothing, delays nobody and costs no memory.
type hub struct {
	mu    sync.Mutex
	rooms map[string]*activity
	pages int
}

// activity is what is going on in a chat now. It is not history: a page gets
// it whole whenever it has changed.
type activity struct {
	version  int
	typing   bool
	arriving map[string]arrival
	wake     map[chan struct{}]struct{}
}

// arrival is a file of the assistant's while its bytes are being copied.
type arrival struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Sent int64  `json:"sent"`
}

// snapshot is an activity as a page sees it.
type snapshot struct {
	version  int
	Typing   bool      `json:"typing"`
	Arriving []arrival `json:"arriving"`
}

func newHub() *hub { return &hub{rooms: map[string]*activity{}} }

// room is called with the lock held.
func (h *hub) room(chat string) *activity {
	a := h.rooms[chat]
	if a == nil {
		a = &activity{arriving: map[string]arrival{}, wake: map[chan struct{}]struct{}{}}
		h.rooms[chat] = a
	}
	return a
}

// subscribe returns a channel that gets a value when something has changed,
// and the function that ends it. It refuses beyond limit pages in all.
func (h *hub) subscribe(chat string, limit int) (wake <-chan struct{}, cancel func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pages >= limit {
		return nil, nil, false
	}
	h.pages++
	ch := make(chan struct{}, 1)
	h.room(chat).wake[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.room(chat).wake, ch)
		h.pages--
	}, true
}

// poke wakes the chat's pages; one that is already awake is left alone.
func (a *activity) poke() {
	for ch := range a.wake {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// notify says that the history has grown.
func (h *hub) notify(chat string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.room(chat).poke()
}

func (h *hub) setTyping(chat string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	if a.typing == on {
		return
	}
	a.typing = on
	a.version++
	a.poke()
}

func (h *hub) setArriving(chat string, f arrival) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	a.arriving[f.ID] = f
	a.version++
	a.poke()
}

func (h *hub) endArriving(chat, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	if _, ok := a.arriving[id]; !ok {
		return
	}
	delete(a.arriving, id)
	a.version++
	a.poke()
}

func (h *hub) snapshot(chat string) snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	s := snapshot{version: a.version, Typing: a.typing, Arriving: []arrival{}}
	for _, id := range slices.Sorted(maps.Keys(a.arriving)) {
		s.Arriving = append(s.Arriving, a.arriving[id])
	}
	return s
}
