package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// eventVersion is that of the form in which the journal has an event.
const eventVersion = 1

// event is what a member did in a chat, in the form of the journal.
type event struct {
	Version  int          `json:"version"`
	Kind     channel.Kind `json:"kind,omitempty"`
	Channel  string       `json:"channel"` // of Discord: the chat or a thread in it
	Thread   string       `json:"thread,omitempty"`
	Target   string       `json:"target,omitempty"`
	Sender   string       `json:"sender"`
	Name     string       `json:"name"`
	Role     channel.Role `json:"role,omitempty"`
	Text     string       `json:"text,omitempty"`
	Told     string       `json:"told,omitempty"`
	Forward  bool         `json:"forward,omitempty"`
	Emoji    string       `json:"emoji,omitempty"`
	Command  string       `json:"command,omitempty"` // of the host's words
	Direct   bool         `json:"direct,omitempty"`
	Files    []attachment `json:"files,omitempty"`
	Quote    *quote       `json:"quote,omitempty"`
	Joined   bool         `json:"joined,omitempty"`
	Poll     string       `json:"poll,omitempty"` // of a vote
	Choice   int          `json:"choice,omitempty"`
	UnixMsec int64        `json:"at"`

	id       string   // the journal's; empty: keep makes one of the event's number
	guild    string   // empty: none, or Discord does not say
	member   *member  // of the server; nil: Discord does not say
	mentions []string // roles
	answer   *reply   // what Discord is to hear when the event is kept
}

// quote is the message that another one answers, as Discord has it.
type quote struct {
	ID      string       `json:"id"`
	Sender  string       `json:"sender"`
	Name    string       `json:"name"`
	Text    string       `json:"text"`
	Own     bool         `json:"own"`
	Forward bool         `json:"forward,omitempty"`
	Files   []attachment `json:"files,omitempty"`
}

// keep makes what members did by an event durable, if it is something for this host.
func (g *gateway) keep(ctx context.Context, f frame) error {
	all, err := decode(f.Type, f.Data, g.self.Load())
	if err != nil {
		return g.unknown(err)
	}
	for i, ev := range all {
		if ev.id == "" {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", g.session, f.Seq, i))
			ev.id = "ev-" + hex.EncodeToString(sum[:12])
		}
		if err := g.keepEvent(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

func (g *gateway) unknown(err error) error {
	g.Log.Info("Discord sent an event that this host does not know", "error", err)
	return nil
}

// keepEvent completes an event by what this host knows, and makes it durable if a group has its
// chat.
func (g *gateway) keepEvent(ctx context.Context, ev event) error {
	if ev.Kind == channel.KindMembership {
		return g.keepMoved(ctx, ev)
	}
	chat, thread, ok, err := g.locate(ctx, ev.Channel)
	if err != nil {
		return err
	}
	private := ev.guild == "" && g.direct(ev.Channel)
	switch ev.Thread = thread; {
	case ev.answer != nil:
		return g.keepAct(ctx, chat, ev, ok)
	case !ok:
		g.knock(ev, private)
		return nil
	case ev.Kind == channel.KindEdit, ev.Kind == channel.KindDeletion:
		return g.keepChange(ctx, chat, ev)
	case ev.Kind.IsMessage():
		ev.Direct = ev.Direct || private || g.directory.guild(ev.guild).mentioned(ev.mentions, g.self.Load().id)
	}
	g.named(&ev, private)
	return g.store(ctx, chat, ev)
}

// named adds the sender's name and role.
func (g *gateway) named(ev *event, private bool) {
	ev.Name = g.directory.name(ev.Sender, ev.Name)
	if of := g.directory.guild(ev.guild); private {
		ev.Role = channel.RoleAdmin
	} else if of != nil && ev.member != nil {
		ev.Role = of.role(ev.Sender, ev.member.Roles)
	}
}

// knock reports to the host a message in a chat of no group, if it is private or to the bot.
func (g *gateway) knock(ev event, private bool) {
	if ev.Kind.IsMessage() && (private || ev.Direct) { // a bot hears every channel of its server
		g.ReportUnknown(chatOf(ev.Channel), private, ev.Name, time.UnixMilli(ev.UnixMsec))
	}
}

// direct reports whether a channel may be a direct message. A channel that no server has told of
// is one if its events name no server.
func (d *Discord) direct(id string) bool {
	r, ok := d.directory.channel(id)
	return !ok || r.Type == typeDM
}

func (g *gateway) store(ctx context.Context, chat groups.JID, ev event) error {
	if ev.UnixMsec == 0 {
		ev.UnixMsec = time.Now().UnixMilli()
	}
	body, err := ev.encode()
	if err != nil {
		return g.unknown(err)
	}
	return g.journal.Keep(ctx, journal.Inbound{Chat: chat, ID: ev.id, Sender: ev.Sender, Info: []byte{}, Body: body, Received: time.Now(), Event: !ev.Kind.IsMessage()})
}

// encode returns an event for the journal. decode bounds the texts and files: a MiB is never reached.
func (ev event) encode() ([]byte, error) {
	ev.Version = eventVersion
	return json.Marshal(ev, lenient)
}

// readEvent reads what encode returned. It refuses what another version of this program kept.
func readEvent(body []byte) (ev event, err error) {
	err = json.Unmarshal(body, &ev, lenient, json.RejectUnknownMembers(true))
	if err == nil && ev.Version != eventVersion {
		err = fmt.Errorf("it has version %d", ev.Version)
	}
	return ev, err
}

// keepChange keeps an edit or a deletion of a message. Its writer is in the journal.
func (g *gateway) keepChange(ctx context.Context, chat groups.JID, ev event) error {
	was, err := g.journal.Inbound(ctx, chat, ev.Target)
	if err != nil || was == nil {
		return err
	}
	before, err := readEvent(was.Body)
	if err != nil {
		before = event{Sender: was.Sender, Name: g.directory.name(was.Sender, "")}
	} else if ev.Kind == channel.KindEdit && ev.Text == before.Text {
		return nil
	}
	ev.Sender, ev.Name, ev.Role = before.Sender, before.Name, before.Role
	return g.store(ctx, chat, ev)
}

// keepMoved keeps that a member joined the server or left it, in each of its chats.
func (g *gateway) keepMoved(ctx context.Context, ev event) error {
	ev.Name = g.directory.name(ev.Sender, ev.Name)
	for _, c := range g.Served() {
		if r, ok := g.directory.channel(idOf(c.JID)); ok && r.Guild == ev.guild {
			ev.Channel = idOf(c.JID)
			if err := g.store(ctx, c.JID, ev); err != nil {
				return err
			}
		}
	}
	return nil
}
