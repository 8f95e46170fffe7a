package claudepush

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
)

const (
	maxPushes = 3               // of one message by one process, before the host is told
	again     = 5 * time.Minute // between two pushes of one message, and two words to the host
	fetchWait = 45 * time.Second
	fetchSoon = 5 * time.Second // after a fetch that failed
	fetchLate = time.Minute     // after one that the host refused
	crowded   = time.Second     // until a client that reads too slowly is tried again
)

// pusher fetches messages and pushes them.
type pusher struct {
	host   Host
	log    *slog.Logger
	notify func(method string, params map[string]any) error
	nudge  chan struct{} // of capacity one: there is a new message

	slow bool // the client reads too slowly; run's alone

	mu  sync.Mutex
	all []*pushed // that wait, in order
	off bool      // the operator does not let messages be pushed any more
}

func newPusher(host Host, log *slog.Logger) *pusher {
	return &pusher{host: host, log: log, nudge: make(chan struct{}, 1)}
}

// pushed is a message that has not ended, as far as this process knows.
type pushed struct {
	ipc.Message
	pushes int
	due    time.Time // of the next push, or of the word to the host; zero: none
}

func (m *pushed) isDue(now time.Time) bool { return !m.due.IsZero() && !m.due.After(now) }

// fetch takes over what comes until ctx ends.
func (p *pusher) fetch(ctx context.Context) {
	cursor, told := "", ""
	for ctx.Err() == nil {
		if !p.allowed(ctx) {
			wake.Sleep(ctx, fetchLate)
			continue
		}
		asked := time.Now()
		in, err := p.host.Inbox(ctx, cursor, fetchWait)
		if err == nil {
			cursor, told = in.Cursor, ""
			p.add(in.Messages)
			if len(in.Messages) == 0 {
				rest(ctx, asked)
			}
			continue
		}
		if ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			p.log.Warn("messages not fetched", "error", err)
		}
		wait := fetchLate
		switch codeOf(err) {
		case "", "unreachable", "busy":
			wait = fetchSoon
		case ipc.CodeWrongValue:
			cursor = "" // it is another host's
		}
		wake.Sleep(ctx, wait)
	}
}

// rest waits a little if the host has answered at once, as it does with limits.wait: 0s.
func rest(ctx context.Context, asked time.Time) {
	if time.Since(asked) < crowded {
		wake.Sleep(ctx, crowded)
	}
}

// allowed asks whether the operator still lets messages be pushed. What is not fetched then
// waits at the host, which tells the chat. A host that is away is not asked: nothing comes
// from it.
func (p *pusher) allowed(ctx context.Context) bool {
	x, err := p.host.Chat(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if off := x.Claude == ""; err == nil && off != p.off {
		if p.off = off; off {
			p.log.Warn("messages are not pushed any more", "error", ErrOff)
		} else {
			p.log.Info("messages are pushed again")
		}
	}
	return !p.off
}

// add takes over messages that are not known yet.
func (p *pusher) add(messages []ipc.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		if p.find(m.ID) == nil {
			p.all = append(p.all, &pushed{Message: m, due: time.Now()})
		}
	}
	wake.Up(p.nudge)
}

// find returns a message that waits, or nil. The caller holds the lock.
func (p *pusher) find(id string) *pushed {
	if i := slices.IndexFunc(p.all, func(m *pushed) bool { return m.ID == id }); i >= 0 {
		return p.all[i]
	}
	return nil
}

// run pushes what is due until ctx ends.
func (p *pusher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.nudge:
		case <-timer.C:
		}
		timer.Reset(max(time.Until(p.pushDue(ctx)), 0))
	}
}

// pushDue pushes what is due, and returns when something is due again. What was pushed
// before is looked up at the host first.
func (p *pusher) pushDue(ctx context.Context) time.Time {
	switch m, at := p.first(); {
	case m == nil:
		return at
	case !p.allowed(ctx):
		return time.Now().Add(fetchLate)
	case p.repeats() && !p.refresh(ctx):
		return time.Now().Add(fetchSoon)
	}
	for {
		m, at := p.first()
		if m == nil {
			return at
		}
		if m.pushes == maxPushes {
			if _, err := p.host.Unheard(ctx, m.ID); err != nil {
				p.log.Warn("host not told that a message is not acknowledged", "error", err)
			}
		} else if err := p.notify(notifyMessage, notification(m.Message)); err != nil {
			if !p.slow { // once, as nobody may read the log either
				p.log.Warn("message not pushed yet", "error", err)
			}
			p.slow = true
			return time.Now().Add(crowded)
		} else {
			p.slow = false
		}
		p.done(m)
	}
}

// repeats reports whether something is due that was pushed before.
func (p *pusher) repeats() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all, func(m *pushed) bool { return m.pushes > 0 && m.isDue(time.Now()) })
}

// first returns the first message that is due, or nil and when one is due.
func (p *pusher) first() (*pushed, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	at := now.Add(time.Hour)
	for _, m := range p.all {
		if m.isDue(now) {
			return m, now
		}
		if !m.due.IsZero() && m.due.Before(at) {
			at = m.due
		}
	}
	return nil, at
}

// done takes note of a push. What calls nobody is pushed once.
func (p *pusher) done(m *pushed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.pushes = min(m.pushes+1, maxPushes)
	m.due = time.Time{}
	if m.Calls {
		m.due = time.Now().Add(again)
	}
}

// refresh forgets what has ended at the host, by an answer elsewhere or a member's /stop.
func (p *pusher) refresh(ctx context.Context) bool {
	waits := map[string]bool{}
	if err := p.each(ctx, func(m ipc.Message) { waits[m.ID] = true }); err != nil {
		if ctx.Err() == nil {
			p.log.Warn("messages not looked up", "error", err)
		}
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(m *pushed) bool { return m.pushes > 0 && !waits[m.ID] })
	return true
}

// each calls f with every message that waits at the host.
func (p *pusher) each(ctx context.Context, f func(ipc.Message)) error {
	for cursor := ""; ; {
		in, err := p.host.Inbox(ctx, cursor, 0)
		if err != nil {
			return err
		}
		for _, m := range in.Messages {
			f(m)
		}
		if len(in.Messages) == 0 || in.Cursor == cursor {
			return nil
		}
		cursor = in.Cursor
	}
}

// end forgets a message that has ended, and returns those before it that call nobody: the
// session has read them.
func (p *pusher) end(id string) (read []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.all, func(m *pushed) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	var left []*pushed
	for i, m := range p.all {
		switch {
		case i == at:
		case i < at && !m.Calls && m.pushes > 0:
			read = append(read, m.ID)
		default:
			left = append(left, m)
		}
	}
	p.all = left
	return read
}
