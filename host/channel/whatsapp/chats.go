package whatsapp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// chatFacts holds a chat's settings that a send needs, and its members.
type chatFacts struct {
	expiration uint32                     // seconds after which the chat forgets a message; 0: never
	adminsOnly bool                       // only admins may write, and the account is not an admin
	hidden     bool                       // its members address each other by hidden id (LID), not by number
	present    map[types.JID]channel.Role // a group's members by number and by hidden id; nil for a person
}

// chats asks WhatsApp about chats, and caches each answer until the chat changes.
type chats struct {
	client *whatsmeow.Client
	people *people
	log    *slog.Logger
	claims link.Keyed // by group: one question at a time for the claims of devices

	mu         sync.Mutex
	known      map[types.JID]chatFacts
	changes    int                     // how often a chat was removed from the cache
	unanswered map[types.JID]time.Time // by group: when the last question for a claim got no answer
}

func newChats(client *whatsmeow.Client, who *people, log *slog.Logger) *chats {
	return &chats{client: client, people: who, log: log, known: map[types.JID]chatFacts{}, unanswered: map[types.JID]time.Time{}}
}

// writable returns a chat's facts, or a permanent error if the account may not
// write there. It is called before anything is uploaded.
func (c *chats) writable(ctx context.Context, to types.JID) (chatFacts, error) {
	facts, err := c.facts(ctx, to)
	if err == nil && facts.adminsOnly {
		err = outcome.AdminsOnly()
	}
	if err != nil {
		return chatFacts{}, err
	}
	return facts, nil
}

// facts returns a chat's facts from the cache, or asks WhatsApp. The answer is
// not cached if a chat changed meanwhile: the answer may be older than the change.
func (c *chats) facts(ctx context.Context, to types.JID) (chatFacts, error) {
	c.mu.Lock()
	facts, ok := c.known[to]
	changes := c.changes
	c.mu.Unlock()
	if ok {
		return facts, nil
	}
	facts, err := c.ask(ctx, to)
	if err != nil {
		return chatFacts{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes {
		c.known[to] = facts
	}
	return facts, nil
}

// questionTime bounds a question about a chat. The library asks for devices
// under a lock that every send needs.
const questionTime = 10 * time.Second

func (c *chats) ask(outer context.Context, to types.JID) (chatFacts, error) {
	ctx, cancel := context.WithTimeout(outer, questionTime)
	defer cancel()
	if to.Server != types.GroupServer {
		devices, err := c.client.GetUserDevices(ctx, []types.JID{to})
		if err != nil {
			return chatFacts{}, outcome.NotReady(outer, err)
		}
		if len(devices) == 0 {
			return chatFacts{}, outcome.NotOnWhatsApp()
		}
		return chatFacts{hidden: to.Server == types.HiddenUserServer}, nil
	}
	info, err := c.client.GetGroupInfo(ctx, to)
	switch {
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrNotInGroup):
		return chatFacts{}, outcome.NotAMember(err)
	case err != nil:
		return chatFacts{}, outcome.NotReady(outer, err)
	}
	return c.factsOf(info), nil
}

func (c *chats) factsOf(info *types.GroupInfo) chatFacts {
	facts := chatFacts{
		adminsOnly: info.IsAnnounce, hidden: info.AddressingMode == types.AddressingModeLID,
		present: make(map[types.JID]channel.Role, 2*len(info.Participants)),
	}
	if info.IsEphemeral {
		facts.expiration = info.DisappearingTimer
	}
	for _, p := range info.Participants {
		role := channel.RoleMember
		if p.IsAdmin {
			role = channel.RoleAdmin
		}
		for _, address := range []types.JID{p.JID, p.PhoneNumber, p.LID} {
			if p.Error == 0 && address.User != "" {
				facts.present[address.ToNonAD()] = role
			}
		}
		if c.people.isAdmin(p) {
			facts.adminsOnly = false
		}
	}
	return facts
}

// roleOf returns a member's role in a group from the cache, else RoleUnknown.
func (c *chats) roleOf(ctx context.Context, group types.JID, who member) channel.Role {
	if c == nil { // there is no connection to ask
		return channel.RoleUnknown
	}
	c.mu.Lock()
	present := c.known[group].present
	c.mu.Unlock()
	who = c.people.both(ctx, who)
	return cmp.Or(present[who.jid], present[who.alt])
}

// forget removes a chat from the cache. err is the reason; forget does nothing if
// err is temporary, since such an error says nothing about the chat.
func (c *chats) forget(chat types.JID, err error) {
	if err != nil && channel.ClassOf(err) != channel.Permanent {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.known, chat)
}
