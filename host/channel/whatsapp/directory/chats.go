package directory

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

// Facts holds a chat's settings that a send needs, and its members.
type Facts struct {
	Expiration uint32                     // seconds after which the chat forgets a message; 0: never
	adminsOnly bool                       // only admins may write, and the account is not an admin
	Hidden     bool                       // its members address each other by hidden id (LID), not by number
	Members    map[types.JID]channel.Role // a group's members by number and by hidden id; nil for a person
}

// Chats asks WhatsApp about chats, and caches each answer until the chat changes.
type Chats struct {
	client *whatsmeow.Client
	people *People
	log    *slog.Logger
	claims link.Keyed // by group: one question at a time for the claims of devices

	mu         sync.Mutex
	known      map[types.JID]Facts
	changes    int                     // how often a chat was removed from the cache
	unanswered map[types.JID]time.Time // by group: when the last question for a claim got no answer
}

// NewChats makes an empty cache of what client answers.
func NewChats(client *whatsmeow.Client, who *People, log *slog.Logger) *Chats {
	return &Chats{client: client, people: who, log: log, known: map[types.JID]Facts{}, unanswered: map[types.JID]time.Time{}}
}

// Writable returns a chat's facts, or a permanent error if the account may not
// write there. It is called before anything is uploaded.
func (c *Chats) Writable(ctx context.Context, to types.JID) (Facts, error) {
	facts, err := c.facts(ctx, to)
	if err == nil && facts.adminsOnly {
		err = outcome.AdminsOnly()
	}
	if err != nil {
		return Facts{}, err
	}
	return facts, nil
}

// facts returns a chat's facts from the cache, or asks WhatsApp. The answer is
// not cached if a chat changed meanwhile: the answer may be older than the change.
func (c *Chats) facts(ctx context.Context, to types.JID) (Facts, error) {
	c.mu.Lock()
	facts, ok := c.known[to]
	changes := c.changes
	c.mu.Unlock()
	if ok {
		return facts, nil
	}
	facts, err := c.ask(ctx, to)
	if err != nil {
		return Facts{}, err
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

func (c *Chats) ask(outer context.Context, to types.JID) (Facts, error) {
	ctx, cancel := context.WithTimeout(outer, questionTime)
	defer cancel()
	if to.Server != types.GroupServer {
		devices, err := c.client.GetUserDevices(ctx, []types.JID{to})
		if err != nil {
			return Facts{}, outcome.NotReady(outer, err)
		}
		if len(devices) == 0 {
			return Facts{}, outcome.NotOnWhatsApp()
		}
		return Facts{Hidden: to.Server == types.HiddenUserServer}, nil
	}
	info, err := c.client.GetGroupInfo(ctx, to)
	switch {
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrNotInGroup):
		return Facts{}, outcome.NotAMember(err)
	case err != nil:
		return Facts{}, outcome.NotReady(outer, err)
	}
	return c.factsOf(info), nil
}

func (c *Chats) factsOf(info *types.GroupInfo) Facts {
	facts := Facts{
		adminsOnly: info.IsAnnounce, Hidden: info.AddressingMode == types.AddressingModeLID,
		Members: make(map[types.JID]channel.Role, 2*len(info.Participants)),
	}
	if info.IsEphemeral {
		facts.Expiration = info.DisappearingTimer
	}
	for _, p := range info.Participants {
		role := channel.RoleMember
		if p.IsAdmin {
			role = channel.RoleAdmin
		}
		for _, address := range []types.JID{p.JID, p.PhoneNumber, p.LID} {
			if p.Error == 0 && address.User != "" {
				facts.Members[address.ToNonAD()] = role
			}
		}
		if c.people.IsOwnAdmin(p) {
			facts.adminsOnly = false
		}
	}
	return facts
}

// CachedRole returns a member's role in a group from the cache, else RoleUnknown.
func (c *Chats) CachedRole(ctx context.Context, group types.JID, who Member) channel.Role {
	if c == nil { // there is no connection to ask
		return channel.RoleUnknown
	}
	c.mu.Lock()
	present := c.known[group].Members
	c.mu.Unlock()
	who = c.people.WithAlt(ctx, who)
	return cmp.Or(present[who.JID], present[who.Alt])
}

// Forget removes a chat from the cache. err is the reason; forget does nothing if
// err is temporary, since such an error says nothing about the chat.
func (c *Chats) Forget(chat types.JID, err error) {
	if err != nil && channel.ClassOf(err) != channel.Permanent {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.known, chat)
}
