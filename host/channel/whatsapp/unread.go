package whatsapp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
)

const (
	unreadAfter = time.Minute // after which nobody waits for a message any more that the device could not read
	maxUnread   = 500         // that are waited for
	unreadFact  = "unread "   // begins the key of the fact that a message is waited for
)

// unread are the messages that the device could not read. The library asks the sender's
// device and the account's phone for each. If neither sends it, the host gets words in its
// place. Facts of the journal keep them over a restart, after which they are waited for anew.
type unread struct {
	mu  sync.Mutex
	all map[string]waiting // by the key of the fact
}

type waiting struct {
	m     messages.Inbound
	since time.Time
}

func unreadKey(chat groups.JID, id types.MessageID) string {
	return unreadFact + string(chat) + " " + id
}

// loadUnread reads what an earlier session has waited for.
func (s *session) loadUnread(ctx context.Context, now time.Time) error {
	s.unread.all = map[string]waiting{}
	facts, err := s.messages.AllNoted(ctx, unreadFact)
	if err != nil {
		return err
	}
	for name, value := range facts {
		chat, id, _ := strings.Cut(name, " ")
		m := messages.Inbound{Inbound: journal.Inbound{Chat: groups.JID(chat), ID: id}, Message: &waE2E.Message{}}
		if err := json.Unmarshal([]byte(value), &m.Meta); err != nil {
			return fmt.Errorf("read what is waited for: %w", err)
		}
		s.unread.all[unreadFact+name] = waiting{m, now}
	}
	return nil
}

// cannotRead notes a message that the device could not read, unless the apps would hide it, too.
func (s *session) cannotRead(e *events.UndecryptableMessage, now time.Time) {
	m := s.received(&e.Info)
	if m.Chat == "" || e.Info.IsFromMe || e.Info.Sender.IsBot() || e.DecryptFailMode == events.DecryptFailHide {
		return
	}
	m.Meta.Unread = "undecryptable"
	if e.UnavailableType == events.UnavailableTypeViewOnce {
		m.Meta.Unread = string(events.UnavailableTypeViewOnce)
	}
	key := unreadKey(m.Chat, m.ID)
	info, err := json.Marshal(m.Meta)
	s.unread.mu.Lock()
	defer s.unread.mu.Unlock()
	if _, noted := s.unread.all[key]; noted {
		return
	}
	if known, _ := s.messages.FindInbound(s.gate.Context(), m.Chat, m.ID); known != nil {
		return
	}
	if len(s.unread.all) >= maxUnread {
		s.putUnread(m)
		return
	}
	s.unread.all[key] = waiting{m, now}
	if err == nil {
		err = s.messages.Note(s.gate.Context(), key, string(info))
	}
	if err != nil {
		s.log.Error("note a message that this device cannot read", "chat", m.Chat, "error", err)
	}
}

// came ends the wait for a message.
func (s *session) came(chat groups.JID, id types.MessageID) {
	s.unread.mu.Lock()
	defer s.unread.mu.Unlock()
	key := unreadKey(chat, id)
	if _, noted := s.unread.all[key]; !noted {
		return
	}
	delete(s.unread.all, key)
	if err := s.messages.Unnote(s.gate.Context(), key); err != nil {
		s.log.Error("forget a message that this device could not read", "chat", chat, "error", err)
	}
}

// putUnread records words in place of a message, under another id: it may still come.
func (s *session) putUnread(m messages.Inbound) bool {
	m.ID = "unread-" + m.ID
	return s.put(m)
}

// giveUp puts words in the place of what was waited for until now.
func (s *session) giveUp(now time.Time) {
	s.unread.mu.Lock()
	var over []messages.Inbound
	for _, w := range s.unread.all {
		if now.Sub(w.since) >= s.w.unread {
			over = append(over, w.m)
		}
	}
	s.unread.mu.Unlock()
	for _, m := range over {
		if s.putUnread(m) {
			s.came(m.Chat, m.ID)
		}
	}
}

// watchUnread calls giveUp while there is a connection by which messages could come.
func (s *session) watchUnread(ctx context.Context) {
	tick := time.NewTicker(s.w.unread / 12)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if s.connected() {
				s.giveUp(now)
			}
		}
	}
}
