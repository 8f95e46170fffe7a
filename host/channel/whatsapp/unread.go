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
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	unreadAfter = time.Minute // how long the host waits for a message that the device could not decrypt
	maxUnread   = 500         // messages in the list
	unreadFact  = "unread "   // begins the key of a message in the journal
)

// unread are the messages that the device could not decrypt. The library asks the sender's
// device and the account's phone for each. If neither sends the message, the host gets a
// description in its place. The journal keeps the list over a restart; then the wait begins anew.
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

// loadUnread reads the list of an earlier session.
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

// noteUnread notes a message that the device could not read, unless the apps would hide it, too.
func (s *session) noteUnread(e *events.UndecryptableMessage, now time.Time) {
	m := s.newInbound(&e.Info)
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
		s.recordUnread(m)
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

// endUnread ends the wait for a message.
func (s *session) endUnread(chat groups.JID, id types.MessageID) {
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

// recordUnread records a description in place of a message, under another id, since the message
// may still come.
func (s *session) recordUnread(m messages.Inbound) bool {
	m.ID = "unread-" + m.ID
	return s.record(m)
}

// expireUnread records descriptions of the messages whose wait is over.
func (s *session) expireUnread(now time.Time) {
	s.unread.mu.Lock()
	var over []messages.Inbound
	for _, w := range s.unread.all {
		if now.Sub(w.since) >= s.w.unread {
			over = append(over, w.m)
		}
	}
	s.unread.mu.Unlock()
	for _, m := range over {
		if s.recordUnread(m) {
			s.endUnread(m.Chat, m.ID)
		}
	}
}

// watchUnread calls expireUnread while there is a connection by which messages could come.
func (s *session) watchUnread(ctx context.Context) {
	for now := range wake.Every(ctx, s.w.unread/12) {
		if s.connected() {
			s.expireUnread(now)
		}
	}
}
