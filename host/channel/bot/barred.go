package bot

import (
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/internal/cache"
)

// restFor is how long a chat that refuses the bot gets no request: platforms block bots that go on.
const restFor = 5 * time.Minute

// Barred remembers what a platform refuses until somebody acts, for the status. A chat, or what belongs
// to it, may be left alone meanwhile. The zero Barred is ready.
type Barred struct {
	by cache.Map[groups.JID, bar]
}

type bar struct {
	err   error
	until time.Time // zero: for good
}

// Of returns why a chat is left alone; nil if it is not.
func (b *Barred) Of(chat groups.JID) error {
	if at, ok := b.by.Get(chat); ok && (at.until.IsZero() || time.Now().Before(at.until)) {
		return at.err
	}
	return nil
}

// Bar has a chat left alone until Free or Clear. It reports whether the error is a new one.
func (b *Barred) Bar(chat groups.JID, err error) bool {
	was, ok := b.by.Change(chat, func(bar, bool) bar { return bar{err: err} })
	return !ok || was.err.Error() != err.Error()
}

// Note records the outcome of a request for a chat, and returns its error. If the platform holds the
// chat, it is left alone for 5 minutes.
func (b *Barred) Note(chat groups.JID, err error) error {
	if err == nil {
		b.Free(chat)
	} else if channel.ClassOf(err) == channel.Held && webapi.WordOf(err) != nil {
		b.by.Set(chat, bar{err, time.Now().Add(restFor)})
	}
	return err
}

// Free lets a chat be tried again, and Clear all.
func (b *Barred) Free(chat groups.JID) { b.by.Delete(chat) }
func (b *Barred) Clear()               { b.by.Clear() }

// Trouble returns what somebody should see to; empty: nothing.
func (b *Barred) Trouble() (words string) {
	for chat, at := range b.by.All() {
		if e, ok := errors.AsType[*channel.Error](at.err); ok {
			words = max(words, string(chat)+": "+e.Message+": "+e.Hint)
		}
	}
	return words
}
