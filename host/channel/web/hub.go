package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	maxPages  = 512              // event streams in all
	maxTabs   = 64               // event streams of one sender
	maxBehind = 256 << 10        // bytes that a stream may have before it
	maxLate   = 10 * time.Second // how late it may write an event
	eventCost = 256              // of an event, beside its bytes
	newsEvery = 2 * time.Second  // how often a chat's pages hear that other chats have news
)

// hub sends what happens in a chat to the pages that are open there. An event is encoded
// once, and linked to the one before it. The hub itself writes it to the streams that take
// it without a wait. The others follow the chain at their own pace, and the events that all
// have written are garbage. So a slow page delays no other and costs no memory of its own.
// The hub ends a stream that is too slow; its page comes back and reads the history.
type hub struct {
	mu    sync.Mutex
	rooms map[string]*activity
	pages int
	tabs  map[any]int     // pages of each sender
	fresh map[string]bool // chats with messages of which the other chats' pages have not heard
}

// activity is what happens in a chat now. It is not part of the history; a page gets all
// of it whenever it changes.
type activity struct {
	typing    bool
	taken     string // the last message of a member that the host has taken up; "" if none since the start
	read      string // taken, when the assistant last began to work
	arriving  map[string]arrival
	last      *event // the chat's latest
	followers map[*follower]bool
	pumped    *event // the last one that the hub has offered to the streams
	pumping   bool
}

// arrival is the progress of an assistant's file that is being copied.
type arrival struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Sent int64  `json:"sent"`
}

// snapshot is an activity as a page sees it.
type snapshot struct {
	Typing   bool      `json:"typing"`
	Arriving []arrival `json:"arriving"`
	Taken    string    `json:"delivered,omitempty"` // members' messages up to this one are with the assistant
	Read     string    `json:"read,omitempty"`      // up to this one, it began to work after it had them
}

// event is one event of a chat, in the form in which every page gets it.
type event struct {
	bytes    []byte // none: it only wakes the streams
	message  *history.Message
	change   int64       // the number of the change that it is; 0: it is none
	reported atomic.Bool // a page has the message

	at   time.Time
	end  int64         // the bytes of the chat's events up to this one
	more chan struct{} // closed when next is set
	next *event
}

// deadline ends a write of a connection that is under way; *http.ResponseController does.
type deadline interface{ SetWriteDeadline(time.Time) error }

// follower is one stream of a chat, as the hub knows it.
type follower struct {
	done   atomic.Int64 // the end of the last event that it has written
	ended  atomic.Bool
	conn   deadline
	atOnce io.Writer     // writes to conn without a wait; nil: it cannot
	wake   chan struct{} // holds a value if the stream has something to do

	mu   sync.Mutex         // held while something is written
	at   *event             // the last event that it has written
	rest []byte             // of the next one
	live bool               // it has written all that there is, and the hub may write
	tell []*history.Message // the stream must report that a page has them

	cursor int64 // the last message that it wrote from the history; the same holds for change
	change int64 // and both are final before the stream is live
}

// has reports whether an event came with the history. A message is in the history a moment
// before the hub passes it on.
func (f *follower) has(e *event) bool {
	return e.message != nil && e.message.Seq <= f.cursor || e.change > 0 && e.change <= f.change
}

func newHub() *hub {
	return &hub{rooms: map[string]*activity{}, tabs: map[any]int{}, fresh: map[string]bool{}}
}

// room returns a chat's activity. The caller holds mu.
func (h *hub) room(chat string) *activity {
	a := h.rooms[chat]
	if a == nil {
		a = &activity{arriving: map[string]arrival{}, last: &event{more: make(chan struct{})}, followers: map[*follower]bool{}}
		h.rooms[chat] = a
	}
	return a
}

// follow begins a stream of what comes after the activity that it returns. leave ends it.
// It refuses more than maxPages in all, and more than maxTabs of one sender; by is nil if
// senders cannot be distinguished. The stream has set conn and atOnce.
func (h *hub) follow(chat string, by any, f *follower) (now []byte, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pages >= maxPages || by != nil && h.tabs[by] >= maxTabs {
		return nil, nil, false
	}
	a := h.room(chat)
	h.pages++
	h.tabs[by]++
	f.at, f.wake = a.last, make(chan struct{}, 1)
	f.done.Store(a.last.end)
	a.followers[f] = true
	return a.now(), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(a.followers, f)
		h.pages--
		if h.tabs[by]--; h.tabs[by] == 0 {
			delete(h.tabs, by)
		}
	}, true
}

// Open implements webpush.Pages: it returns the ids of the sessions with an open page, and whether any page is open.
func (h *hub) Open() (sessions map[string]bool, any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sessions = map[string]bool{}
	for by := range h.tabs {
		if s, ok := by.(*session.Session); ok {
			sessions[string(s.ID())] = true
		}
	}
	return sessions, h.pages > 0
}

// add appends an event to a chat's chain, and ends the streams that are more than maxBehind
// bytes behind. The caller holds mu.
func (h *hub) add(a *activity, e *event) {
	if len(a.followers) == 0 { // the history has it
		return
	}
	for f := range a.followers {
		if a.last.end-f.done.Load() > maxBehind {
			f.ended.Store(true)
			_ = f.conn.SetWriteDeadline(time.Now())
			delete(a.followers, f)
		}
	}
	e.at, e.end, e.more = time.Now(), a.last.end+int64(len(e.bytes))+eventCost, make(chan struct{})
	if !a.pumping {
		a.pumping, a.pumped = true, a.last
		go h.pump(a)
	}
	a.last.next = e
	close(a.last.more)
	a.last = e
}

// pump offers the streams each event, until there is no more.
func (h *hub) pump(a *activity) {
	for {
		h.mu.Lock()
		if a.pumped == a.last {
			a.pumping, a.pumped = false, nil
			h.mu.Unlock()
			return
		}
		a.pumped = a.pumped.next
		e, all := a.pumped, slices.Collect(maps.Keys(a.followers))
		h.mu.Unlock()
		for _, f := range all {
			f.take(e)
		}
	}
}

// take writes an event to a stream that has written all before it. It only wakes the stream
// if the stream is behind, if it would have to wait, or if there is nothing to write.
func (f *follower) take(e *event) {
	if !f.mu.TryLock() {
		wake.Up(f.wake)
		return
	}
	defer f.mu.Unlock()
	if f.done.Load() >= e.end { // the stream itself has written it: what it is at may be the chain's end, where add writes
		return
	}
	if !f.live || f.atOnce == nil || f.at.next != e || len(e.bytes) == 0 {
		wake.Up(f.wake)
		return
	}
	if f.has(e) {
		f.wrote(e)
		return
	}
	if n, err := f.atOnce.Write(e.bytes); err != nil || n < len(e.bytes) {
		f.rest, f.live = e.bytes[n:], false
		wake.Up(f.wake)
		return
	}
	if f.wrote(e); len(f.tell) > 0 {
		wake.Up(f.wake)
	}
}

// wrote records that an event is written. The caller holds f.mu.
func (f *follower) wrote(e *event) {
	f.at, f.rest = e, nil
	f.done.Store(e.end)
	if e.message != nil && !e.reported.Swap(true) {
		f.tell = append(f.tell, e.message)
	}
}

// pokeAll wakes all pages to check whether they are to end.
func (h *hub) pokeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.rooms {
		h.add(a, &event{})
	}
}

// poke wakes the pages of a chat to check whether the chat still exists.
func (h *hub) poke(chat string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(h.room(chat), &event{})
}

// publish sends a durable *history.Message or *history.Change to the pages. It is called in their order;
// the caller has entered the chat.
func (h *hub) publish(chat string, what any) {
	var e *event
	if h.followed(chat) { // a page that comes later finds it in the history
		e = encoded(what)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e != nil {
		h.add(h.room(chat), e)
	}
	if _, isMessage := what.(*history.Message); !isMessage || h.pages == 0 {
		return
	}
	if len(h.fresh) == 0 {
		time.AfterFunc(newsEvery, h.tellNews)
	}
	h.fresh[chat] = true
}

func (h *hub) followed(chat string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.room(chat).followers) > 0
}

// tellNews tells the pages of each chat that other chats have news. A page then fetches
// its list of chats.
func (h *hub) tellNews() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, a := range h.rooms {
		if len(h.fresh) > 1 || !h.fresh[name] {
			h.add(a, &event{bytes: []byte("event: chats\ndata: {}\n\n")})
		}
	}
	clear(h.fresh)
}

// encoded returns the event of a *history.Message or a *history.Change.
func encoded(what any) *event {
	switch v := what.(type) {
	case *history.Message:
		return &event{bytes: written("message", v.ID, v), message: v}
	case *history.Change:
		return &event{bytes: written("change", "", v), change: v.N}
	}
	return &event{}
}

// written returns the bytes of an event in a stream. JSON has no raw line break, so its
// content cannot end the event early. All that is written here can be encoded.
func written(kind, id string, v any) []byte {
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: ", kind)
	_ = json.NewEncoder(&b).Encode(v) // ends the line
	return append(b.Bytes(), '\n')
}

// update changes a chat's activity and sends it to the pages.
func (h *hub) update(chat string, do func(a *activity) (changed bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.room(chat); do(a) && len(a.followers) > 0 {
		h.add(a, &event{bytes: a.now()})
	}
}

// took records that the host has taken a member's message.
func (h *hub) took(chat, id string) {
	h.update(chat, func(a *activity) bool {
		a.taken = id
		return true
	})
}

func (h *hub) setTyping(chat string, on bool) {
	h.update(chat, func(a *activity) bool {
		if a.typing == on {
			return false
		}
		if a.typing = on; on {
			a.read = a.taken
		}
		return true
	})
}

func (h *hub) setArriving(chat string, f arrival) {
	h.update(chat, func(a *activity) bool {
		a.arriving[f.ID] = f
		return true
	})
}

func (h *hub) endArriving(chat, id string) {
	h.update(chat, func(a *activity) bool {
		_, was := a.arriving[id]
		delete(a.arriving, id)
		return was
	})
}

// now returns the event of the activity. The caller holds mu.
func (a *activity) now() []byte {
	s := snapshot{Typing: a.typing, Arriving: []arrival{}, Taken: a.taken, Read: a.read}
	for _, id := range slices.Sorted(maps.Keys(a.arriving)) {
		s.Arriving = append(s.Arriving, a.arriving[id])
	}
	return written("activity", "", s)
}
