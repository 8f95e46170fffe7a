package telegram

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/internal/cache"
)

// moved maps the old number of a group, which longshore.yaml has, to the number that the group got
// when it became a supergroup. The zero moved is ready.
type moved struct{ to cache.Map[int64, int64] }

// movedFact begins the journal's key of a new number; the old number follows.
const movedFact = "moved "

// load reads the numbers from the journal.
func (m *moved) load(ctx context.Context, j *journal.Journal) error {
	all, err := j.AllNoted(ctx, movedFact)
	for from, to := range all {
		m.to.Set(senderOf("tg:"+from), senderOf("tg:"+to))
	}
	return err
}

// follow records in the journal, which may be nil, that a group has another number now.
func (t *Telegram) follow(ctx context.Context, j *journal.Journal, from, to int64) error {
	if jid := t.chatOf(from); t.moved.now(from) == to || !t.Serves(jid) && jid != t.settings.Depot {
		return nil
	}
	t.moved.to.Set(from, to)
	t.Log.Warn("a group became a supergroup: correct its chat in longshore.yaml", "chat", chatOf(from), "now", chatOf(to))
	if j == nil {
		return nil
	}
	return j.Note(ctx, movedFact+strconv.FormatInt(from, 10), strconv.FormatInt(to, 10))
}

// now returns the present number of a chat.
func (m *moved) now(id int64) int64 {
	to, _ := m.to.Get(id)
	return cmp.Or(to, id)
}

// before returns the old number of a chat if counts knows the chat by that one; else id.
func (m *moved) before(id int64, counts func(groups.JID) bool) int64 {
	for from, to := range m.to.All() {
		if to == id && counts(chatOf(from)) {
			return from
		}
	}
	return id
}

// trouble returns what the operator should correct; empty: nothing.
func (m *moved) trouble(counts func(groups.JID) bool) (words string) {
	for from, to := range m.to.All() {
		if counts(chatOf(from)) {
			words = max(words, fmt.Sprintf("%s is %s now: correct it in longshore.yaml", chatOf(from), chatOf(to)))
		}
	}
	return words
}
