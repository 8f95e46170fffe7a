package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	late    []lateMessage         // taken and not shown
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

// lateMessage is a message that the platform has taken and does not show yet.
type lateMessage struct {
	id   string
	chat groups.JID
	seen Seen // its ID is that of the pending receipt
}

// take shows a message, or keeps it for Settle.
func (p *platform) take(id string, chat groups.JID, s Seen, o Options) channel.Receipt {
	if !o.Late {
		return p.show(id, chat, s, o.Forgets)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, there := p.byID[id]; there && !o.Forgets {
		return r
	}
	s.ID = "LATE" + p.newID()
	p.byID[id] = channel.Receipt{ID: s.ID, Time: time.Now(), Pending: true}
	p.late = append(p.late, lateMessage{id, chat, s})
	p.changedLocked()
	return p.byID[id]
}

// Settle shows what the platform has taken and not shown.
func (m *Channel) Settle(ctx context.Context) error {
	m.p.mu.Lock()
	late := m.p.late
	m.p.late = nil
	m.p.mu.Unlock()
	for _, l := range late {
		pending := l.seen.ID
		if m.opts.Forgets {
			l.seen.ID = ""
		}
		m.p.show(l.id, l.chat, l.seen, true)
		if m.opts.Forgets {
			continue
		}
		if err := m.Report(ctx, l.chat, pending, channel.StateSent); err != nil {
			return err
		}
	}
	return nil
}

// ticket is a new name for a message.
func (p *platform) ticket() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "ticket " + p.newID()
}

// show makes a message appear, unless it is there already.
func (p *platform) show(id string, chat groups.JID, s Seen, again bool) channel.Receipt {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, there := p.byID[id]
	if there && !again {
		return first
	}
	r := channel.Receipt{ID: s.ID, Time: time.Now()}
	if r.ID == "" {
		r.ID = p.newID()
	}
	if !there || first.Pending { // a message that is still to be shown is known all the time
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
	files := m.Files
	if m.Quote != nil {
		files = slices.Concat(files, m.Quote.Files)
	}
	for _, f := range files {
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
