package web

import (
	"maps"
	"slices"
	"sync"
)

// hub wakes the pages of a chat. A page that wakes asks for the messages after its own
// last one: from the hub, which has the latest few, or from the history. So a slow page
// misses nothing, delays no other and costs no memory, and many fast pages do not each
// read the history.
type hub struct {
	mu    sync.Mutex
	rooms map[string]*activity
	pages int
	tabs  map[*session]int // pages of each session
	news  int              // messages of all chats so far
}

// activity is what happens in a chat now. It is not part of the history; a page gets all
// of it whenever it changes.
type activity struct {
	version  int
	typing   bool
	taken    string // the last message of a member that the host has taken up; "" if none since the start
	read     string // taken, when the assistant last began to work
	own      int    // messages so far
	changed  int64  // the last change of a message since the start; 0: none
	arriving map[string]arrival
	recent   []*Message // the chat's latest, without a gap; never changed, only replaced
	base     int64      // the message before recent; valid when recent holds any
	wake     map[chan struct{}]struct{}
}

// arrival is the progress of a file of the assistant's that is being copied.
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
	Taken    string    `json:"delivered,omitempty"` // members' messages up to this one are with the assistant
	Read     string    `json:"read,omitempty"`      // up to this one, it began to work after it had them
}

func newHub() *hub { return &hub{rooms: map[string]*activity{}, tabs: map[*session]int{}} }

// room is called with the lock held.
func (h *hub) room(chat string) *activity {
	a := h.rooms[chat]
	if a == nil {
		a = &activity{arriving: map[string]arrival{}, wake: map[chan struct{}]struct{}{}}
		h.rooms[chat] = a
	}
	return a
}

// subscribe returns a channel that gets a value after each change, and the function that
// ends the subscription. It refuses more than maxPages in all, and more than maxTabs of
// one session; by is nil if the session is unknown.
func (h *hub) subscribe(chat string, by *session) (wake <-chan struct{}, cancel func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pages >= maxPages || by != nil && h.tabs[by] >= maxTabs {
		return nil, nil, false
	}
	h.pages++
	if by != nil {
		h.tabs[by]++
	}
	ch := make(chan struct{}, 1)
	h.room(chat).wake[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.room(chat).wake, ch)
		h.pages--
		if by != nil {
			if h.tabs[by]--; h.tabs[by] == 0 {
				delete(h.tabs, by)
			}
		}
	}, true
}

// open returns the ids of the sessions with an open page, and whether any page is open.
func (h *hub) open() (sessions map[string]bool, any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sessions = map[string]bool{}
	for s := range h.tabs {
		sessions[string(s.id[:])] = true
	}
	return sessions, h.pages > 0
}

// poke wakes the chat's pages.
func (a *activity) poke() {
	for ch := range a.wake {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// poke wakes the pages of a chat to check whether the chat still exists.
func (h *hub) poke(chat string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.room(chat).poke()
}

// maxRecent is how many messages of a chat the hub keeps.
const maxRecent = 64

// publish adds messages to the recent ones. It is called in the order of their numbers;
// the caller has entered the chat.
func (h *hub) publish(chat string, ms []*Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	if len(a.recent) == 0 {
		// What came before the first one is the history's to say.
		a.base = ms[0].seq - 1
	}
	a.recent = append(slices.Clip(a.recent), ms...)
	if n := len(a.recent) - maxRecent; n > 0 {
		a.base = a.recent[n-1].seq
		a.recent = a.recent[n:]
	}
	a.own += len(ms)
	h.news += len(ms)
	for _, a := range h.rooms { // their lists of chats are old now
		a.poke()
	}
}

// elsewhere counts the messages so far of all other chats.
func (h *hub) elsewhere(chat string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.news - h.room(chat).own
}

// took records that the host has taken a member's message.
func (h *hub) took(chat, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	a.taken = id
	a.version++
	a.poke()
}

// after returns the messages after seq; ok is false if only the history has them.
func (h *hub) after(chat string, seq int64) (ms []*Message, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	if len(a.recent) == 0 || seq < a.base {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(a.recent, seq+1, func(m *Message, seq int64) int { return int(m.seq - seq) })
	return a.recent[i:], true
}

// forget removes deleted messages up to seq.
func (h *hub) forget(chat string, seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	i, _ := slices.BinarySearchFunc(a.recent, seq+1, func(m *Message, seq int64) int { return int(m.seq - seq) })
	a.recent = a.recent[i:]
}

// moved records a later status, so that the next page does not report it again.
func (h *hub) moved(chat string, ids []string, to Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	a.recent = slices.Clone(a.recent)
	for i, m := range a.recent {
		if slices.Contains(ids, m.ID) {
			later := *m
			later.Status = to
			a.recent[i] = &later
		}
	}
}

func (h *hub) setTyping(chat string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.room(chat)
	if a.typing == on {
		return
	}
	a.typing = on
	if on {
		a.read = a.taken
	}
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
	s := snapshot{version: a.version, Typing: a.typing, Arriving: []arrival{}, Taken: a.taken, Read: a.read}
	for _, id := range slices.Sorted(maps.Keys(a.arriving)) {
		s.Arriving = append(s.Arriving, a.arriving[id])
	}
	return s
}
