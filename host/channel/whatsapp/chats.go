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
)

// chatFacts is what a send has to know of a chat, and who is in it.
type chatFacts struct {
	expiration uint32                     // seconds after which the chat forgets a message; 0: never
	adminsOnly bool                       // only admins write, and the account is none
	hidden     bool                       // its members address each other by hidden id (LID), not by number
	present    map[types.JID]channel.Role // a group's members by number and by hidden id; nil for a person
}

// chats asks WhatsApp about chats, and remembers what it answered until a chat
// changes.
type chats struct {
	client *whatsmeow.Client
	people *people
	log    *slog.Logger
	claims link.Keyed // by group: one question at a time on behalf of devices

	mu         sync.Mutex
	known      map[types.JID]chatFacts
	changes    int                     // how often a chat was forgotten
	unanswered map[types.JID]time.Time // groups: the last question for a claim that had no answer
}

func newChats(client *whatsmeow.Client, who *people, log *slog.Logger) *chats {
	return &chats{client: client, people: who, log: log, known: map[types.JID]chatFacts{}, unanswered: map[types.JID]time.Time{}}
}

// writable are a chat's facts; an error if the account may not write there. It
// is asked before anything is uploaded.
func (c *chats) writable(ctx context.Context, to types.JID) (chatFacts, error) {
	facts, err := c.facts(ctx, to)
	if err == nil && facts.adminsOnly {
		err = adminsOnly()
	}
	if err != nil {
		return chatFacts{}, err
	}
	return facts, nil
}

// facts asks if nothing is remembered. An answer is not remembered if a chat
// changed while WhatsApp was asked: it may be older than the change.
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
			return chatFacts{}, notReady(outer, err)
		}
		if len(devices) == 0 {
			return chatFacts{}, notOnWhatsApp()
		}
		return chatFacts{hidden: to.Server == types.HiddenUserServer}, nil
	}
	info, err := c.client.GetGroupInfo(ctx, to)
	switch {
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrNotInGroup):
		return chatFacts{}, notAMember(err)
	case err != nil:
		return chatFacts{}, notReady(outer, err)
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

// roleOf is what a member may do in a group, if that is remembered.
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

// notReady is a question that WhatsApp did not answer.
func notReady(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	if errors.Is(err, whatsmeow.ErrNotConnected) {
		return notConnected(err)
	}
	return passing("whatsapp_not_ready", "WhatsApp did not answer a question about the chat", err)
}

// forget makes the next question about a chat go to WhatsApp. err is why it is
// called: an error that passes says nothing of the chat.
func (c *chats) forget(chat types.JID, err error) {
	if err != nil && channel.ClassOf(err) != channel.Permanent {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.known, chat)
}
