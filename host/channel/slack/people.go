package slack

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

const (
	maxPeople  = 2000             // names that are remembered
	nameFor    = time.Hour        // how long a name counts
	retryNames = time.Minute      // until the next question after one without an answer
	nameWithin = 10 * time.Second // how long a question may take
	maxThreads = 1000             // that are remembered in memory
)

// people caches what Slack says of members. The zero people is ready.
type people struct {
	mu sync.Mutex
	by map[string]known
}

type known struct {
	name  string
	bot   bool         // an app's own
	role  channel.Role // unknown: Slack has not said who it is
	until time.Time
}

func (p *people) get(id string) (known, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.by[id]
	return k, ok && time.Now().Before(k.until)
}

func (p *people) put(id string, k known) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil || len(p.by) >= maxPeople {
		p.by = map[string]known{}
	}
	p.by[id] = k
}

// nameOf returns a member's name, or the id if Slack does not say.
func (s *Slack) nameOf(ctx context.Context, id string) string { return s.member(ctx, id).name }

func (s *Slack) member(ctx context.Context, id string) known {
	if id == "" {
		return known{}
	}
	if k, ok := s.people.get(id); ok {
		return k
	}
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	k := known{name: id, until: time.Now().Add(retryNames)}
	if u, err := s.api.slackgo.GetUserInfoContext(ctx, id); err != nil {
		s.Log.Info("ask for a member's name", "error", apiError(err))
	} else {
		k.name = cmp.Or(channel.CleanName(u.Profile.DisplayName), channel.CleanName(u.RealName), channel.CleanName(u.Name), id)
		k.bot, k.role, k.until = u.IsBot, s.roleOf(u), time.Now().Add(nameFor)
	}
	s.people.put(id, k)
	return k
}

// threads remembers in which threads the assistant spoke, which the journal knows for a week, and
// which others had messages.
type threads struct {
	mu   sync.Mutex
	here map[string]bool // spoken in; false: only heard of
}

// threadKey returns the key of a thread or, if thread is empty, of the chat itself.
func threadKey(chat groups.JID, thread string) string { return string(chat) + " " + thread }

func (t *threads) known(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.here[key]
}

// first reports whether this is its first call for a thread, as far as is remembered.
func (t *threads) first(chat groups.JID, thread string) bool {
	_, seen := t.set(threadKey(chat, thread), false)
	return !seen
}

// set remembers a thread, and whether the assistant spoke there now or before.
func (t *threads) set(key string, spoken bool) (was, seen bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was, seen = t.here[key]; t.here == nil || len(t.here) >= maxThreads {
		t.here = map[string]bool{}
	}
	t.here[key] = was || spoken
	return was, seen
}

// spoke records that the assistant spoke in a thread.
func (t *threads) spoke(ctx context.Context, j *journal.Journal, chat groups.JID, thread string) error {
	key := threadKey(chat, thread)
	if thread == "" || t.known(key) {
		return nil
	}
	if err := j.Record(ctx, journal.Sent{ID: key, Chat: chat, Body: []byte{}, Created: time.Now()}); err != nil {
		return err
	}
	t.set(key, true)
	return nil
}

// spokenIn reports whether the assistant spoke in a thread.
func (t *threads) spokenIn(ctx context.Context, j *journal.Journal, chat groups.JID, thread string) (bool, error) {
	key := threadKey(chat, thread)
	if thread == "" || t.known(key) {
		return thread != "", nil
	}
	sent, err := j.Sent(ctx, key)
	return sent != nil, err
}
