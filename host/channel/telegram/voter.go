package telegram

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/cache"
)

// presentFor is how long a person counts as present.
const presentFor = time.Hour

// present remembers whom the bot has lately seen in a chat, and until when. A vote names no chat, and a
// poll can be forwarded to anybody, so that only votes of people in the chat count.
type present struct {
	asks *rate.Limiter // questions to Telegram about voters who were not seen
	by   cache.Map[seat, time.Time]
}

type seat struct {
	chat groups.JID
	user int64
}

func newPresent() *present { return &present{asks: rate.NewLimiter(rate.Every(time.Second), 60)} }

func (p *present) note(s seat, here bool) {
	if here {
		p.by.Set(s, time.Now().Add(presentFor))
	} else {
		p.by.Delete(s)
	}
}

// seen records who is in a chat, by an event of the chat.
func (p *present) seen(in *channel.Inbound) {
	if in.Kind.IsMessage() {
		p.note(seat{in.Chat, senderOf(in.Sender)}, true)
	}
	for _, who := range in.Joined {
		p.note(seat{in.Chat, senderOf(who.Sender)}, true)
	}
	for _, who := range in.Left {
		p.note(seat{in.Chat, senderOf(who.Sender)}, false)
	}
}

// isPresent reports whether a voter is in the chat. It asks Telegram about a person who was not seen
// there: 60 at once, then one a second; others are not in the chat. An error is temporary.
func (t *Telegram) isPresent(ctx context.Context, chat groups.JID, voter int64) (bool, error) {
	at := seat{chat, voter}
	until, _ := t.present.by.Get(at)
	id := t.moved.now(idOf(chat))
	switch {
	case id > 0, id == voter: // an anonymous admin votes on behalf of the group
		return id == voter, nil
	case time.Now().Before(until):
		return true, nil
	case !t.present.asks.Allow():
		t.Log.Warn("a vote does not count: too many votes of people who were not seen in the chat", "chat", chat)
		return false, nil
	}
	m, err := t.memberOf(ctx, id, voter)
	if err != nil {
		return false, fmt.Errorf("ask whether a voter is in the chat: %w", err)
	}
	here := m.here()
	t.present.note(at, here)
	return here, nil
}
