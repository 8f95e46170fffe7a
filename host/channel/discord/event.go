package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// event is what a member did in a chat. The gateway completes it: decode leaves Chat out, and ID if it has
// to be made of the event's number.
type event struct {
	channel.Inbound
	own

	guild    string   // empty: none, or Discord does not say
	member   *member  // of the server; nil: Discord does not say
	mentions []string // roles
	answer   *reply   // what Discord is to hear when the event is kept
}

// own is what the journal has of an event besides.
type own struct {
	Channel string            `json:"channel"`        // of Discord: the chat or a thread in it
	URLs    map[string]string `json:"urls,omitempty"` // of the files, by their ids
	Poll    string            `json:"poll,omitempty"` // of a vote
	Choice  int               `json:"choice,omitempty"`
}

// keep makes what members did by an event durable, if it is something for this host.
func (g *gateway) keep(ctx context.Context, f frame) error {
	all, err := decode(f.Type, f.Data, g.self.Load())
	if err != nil {
		g.Log.Info("Discord sent an event that this host does not know", "error", err)
		return nil
	}
	for i, ev := range all {
		if ev.ID == "" {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", g.session, f.Seq, i))
			ev.ID = "ev-" + hex.EncodeToString(sum[:12])
		}
		if err := g.keepEvent(ctx, ev); err != nil {
			return err
		}
	}
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
	at, told := g.directory.channels.Get(ev.Channel)
	private := ev.guild == "" && (!told || at.Type == typeDM) // a server tells of its channels
	switch ev.Thread = thread; {
	case ev.answer != nil:
		return g.keepAct(ctx, chat, ev, ok)
	case !ok:
		if ev.Kind.IsMessage() && (private || ev.Direct) { // a bot hears every channel of its server
			g.ReportUnknown(chatOf(ev.Channel), private, ev.From, ev.Time)
		}
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
	ev.From = g.directory.name(ev.Sender, ev.From)
	if of := g.directory.guild(ev.guild); private {
		ev.Role = channel.RoleAdmin
	} else if of != nil && ev.member != nil {
		ev.Role = of.role(ev.Sender, ev.member.Roles)
	}
}

func (g *gateway) store(ctx context.Context, chat groups.JID, ev event) error {
	if ev.Chat = chat; ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	return g.open.Keep(ctx, ev.Inbound, ev.own)
}

// keepChange keeps an edit or a deletion of a message. Its writer is in the journal.
func (g *gateway) keepChange(ctx context.Context, chat groups.JID, ev event) error {
	was, err := g.open.Journal.Inbound(ctx, chat, ev.Target)
	if err != nil || was == nil {
		return err
	}
	before, err := bot.Decode(*was, &own{})
	if err != nil {
		before = channel.Inbound{Sender: was.Sender, From: g.directory.name(was.Sender, "")}
	} else if ev.Kind == channel.KindEdit && ev.Text == before.Text {
		return nil
	}
	ev.Sender, ev.From, ev.Role = before.Sender, before.From, before.Role
	return g.store(ctx, chat, ev)
}

// keepMoved keeps that a member joined the server or left it, in each of its chats.
func (g *gateway) keepMoved(ctx context.Context, ev event) error {
	for _, all := range [][]channel.Person{ev.Joined, ev.Left} {
		for i := range all {
			all[i].Name = g.directory.name(all[i].Sender, all[i].Name)
		}
	}
	for _, c := range g.Served() {
		if r, ok := g.directory.channels.Get(idOf(c.JID)); ok && r.Guild == ev.guild {
			ev.Channel = idOf(c.JID)
			if err := g.store(ctx, c.JID, ev); err != nil {
				return err
			}
		}
	}
	return nil
}
