package memory

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// Attempt is one call of Send.
type Attempt struct {
	Message channel.Message
	Number  int  // of the calls with this Message.ID, from 1
	Done    bool // Send has returned
	Err     error
}

// platform is what members see and what tests have told; it outlives the
// channels that connect to it.
type platform struct {
	mu      sync.Mutex
	news    chan struct{} // closed and replaced at every change
	chats   map[groups.JID][]Seen
	byID    map[string]channel.Receipt // of the first copy, by Message.ID
	faults  []Fault
	calls   []Attempt
	tries   map[string]int
	writers map[groups.JID]int
	ids     int
	unread  []channel.Inbound     // of members, that no inbox has kept
	files   map[string]memberFile // by reference
	expired int                   // files
}

func newPlatform() *platform {
	return &platform{
		news: make(chan struct{}), chats: map[groups.JID][]Seen{}, byID: map[string]channel.Receipt{},
		tries: map[string]int{}, writers: map[groups.JID]int{}, files: map[string]memberFile{},
	}
}

func (p *platform) change() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.news
}

func (p *platform) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changedLocked()
}

func (p *platform) changedLocked() {
	close(p.news)
	p.news = make(chan struct{})
}

// begin records a call and picks its fault.
func (p *platform) begin(m channel.Message, script func(channel.Message, int) Fault) (n int, f Fault) {
	p.mu.Lock()
	p.tries[m.ID]++
	try := p.tries[m.ID]
	n = len(p.calls)
	p.calls = append(p.calls, Attempt{Message: m, Number: try})
	told := len(p.faults) > 0
	if told {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	p.changedLocked()
	p.mu.Unlock()
	if !told && script != nil { // without the lock: a script may look at the channel
		f = script(m, try)
	}
	return n, f
}

func (p *platform) finish(n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[n].Done, p.calls[n].Err = true, err
	p.changedLocked()
}

// show makes a message appear, unless it is there already.
func (p *platform) show(id string, chat groups.JID, s Seen, again bool) channel.Receipt {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, there := p.byID[id]
	if there && !again {
		return first
	}
	r := channel.Receipt{ID: p.newID(), Time: time.Now()}
	if !there {
		p.byID[id] = r
	}
	s.ID = r.ID
	p.chats[chat] = append(p.chats[chat], s)
	p.changedLocked()
	return r
}

func (p *platform) newID() string {
	p.ids++
	return fmt.Sprintf("MEM%06d", p.ids)
}

func (p *platform) receipt(id string) *channel.Receipt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.byID[id]; ok {
		return &r
	}
	return nil
}

func (p *platform) filled(m channel.Inbound) channel.Inbound {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range m.Files {
		p.files[f.Ref] = memberFile{m.Chat, p.files[f.Ref].data}
	}
	if m.ID == "" {
		m.ID = p.newID()
	}
	if m.From == "" {
		m.From = "member"
	}
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	return m
}

func (p *platform) typing(chat groups.JID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writers[chat]++
	p.changedLocked()
}

// All is what the members of every chat see, by chat.
func (m *Channel) All() map[groups.JID][]Seen {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return maps.Clone(m.p.chats)
}

// Show makes a message appear in a chat that nobody sent.
func (m *Channel) Show(chat groups.JID, s Seen) { m.p.show("", chat, s, true) }
