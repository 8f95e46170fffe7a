package discord

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxIn      = 16 << 10 // bytes of a text that comes in; Discord's longest has 4,000 characters
	maxInFiles = 20       // of a message; Discord's own most is 10
	maxURL     = 2000     // bytes
)

// lenient takes half a character for an unknown one.
var lenient = jsontext.AllowInvalidUTF8(true)

type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Global   string `json:"global_name"`
	Bot      bool   `json:"bot"`
}

type member struct {
	Nick  string   `json:"nick"`
	Roles []string `json:"roles"`
	User  user     `json:"user"`
}

func (m *member) roles() []string {
	if m == nil {
		return nil
	}
	return m.Roles
}

// nameOf is what members see of a user.
func nameOf(u user, m *member) string {
	nick := ""
	if m != nil {
		nick = m.Nick
	}
	return cmp.Or(channel.CleanName(nick), channel.CleanName(u.Global), channel.CleanName(u.Username))
}

type attachment struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
	Long string `json:"title"` // the name, if Discord had to change it
	MIME string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
	Wave string `json:"waveform"` // of a voice message
}

// message is a message as the API and the gateway have it.
type message struct {
	ID      string         `json:"id"`
	Channel string         `json:"channel_id"`
	Guild   string         `json:"guild_id"`
	Type    int            `json:"type"`
	Text    string         `json:"content"`
	Author  *user          `json:"author"`
	Member  *member        `json:"member"`
	Webhook string         `json:"webhook_id"`
	Nonce   jsontext.Value `json:"nonce"`
	Edited  string         `json:"edited_timestamp"`
	Refers  struct {
		ID string `json:"message_id"`
	} `json:"message_reference"`
	Mentions []user       `json:"mentions"`
	Files    []attachment `json:"attachments"`
	Answers  *message     `json:"referenced_message"`
	Buttons  []component  `json:"components"`
}

// event is what a member did, in a chat, as the journal keeps it.
type event struct {
	Kind     channel.Kind `json:"kind,omitempty"`
	Channel  string       `json:"channel"` // of Discord: the chat or a thread in it
	Thread   string       `json:"thread,omitempty"`
	Private  bool         `json:"private,omitempty"`
	Target   string       `json:"target,omitempty"`
	Sender   string       `json:"sender"`
	Name     string       `json:"name"`
	Role     channel.Role `json:"role,omitempty"`
	Text     string       `json:"text,omitempty"`
	Emoji    string       `json:"emoji,omitempty"`
	Command  string       `json:"command,omitempty"` // of the host's words
	Direct   bool         `json:"direct,omitempty"`
	Files    []attachment `json:"files,omitempty"`
	Quote    *quote       `json:"quote,omitempty"`
	Joined   bool         `json:"joined,omitempty"`
	Poll     string       `json:"poll,omitempty"` // of a vote
	Choice   int          `json:"choice,omitempty"`
	UnixMsec int64        `json:"at"`
}

// quote is the message that another one answers, by Discord's word.
type quote struct {
	ID     string       `json:"id"`
	Sender string       `json:"sender"`
	Name   string       `json:"name"`
	Text   string       `json:"text"`
	Own    bool         `json:"own"`
	Files  []attachment `json:"files,omitempty"`
}

// keep makes an event durable, if it is one for this host.
func (g *gateway) keep(ctx context.Context, f frame) error {
	switch f.Type {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE":
	case "INTERACTION_CREATE":
		return g.keepInteraction(ctx, f.Data)
	default:
		return nil
	}
	if f.Type == "MESSAGE_CREATE" {
		var m message
		if err := json.Unmarshal(f.Data, &m, lenient); err != nil {
			return g.unknown(err)
		}
		return g.keepMessage(ctx, &m)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", g.session, f.Seq))
	id := "ev-" + hex.EncodeToString(sum[:12])
	switch f.Type {
	case "MESSAGE_UPDATE", "MESSAGE_DELETE":
		return g.keepChange(ctx, f, id)
	case "GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE":
		return g.keepMoved(ctx, f, id)
	}
	return g.keepReaction(ctx, f, id)
}

func (g *gateway) unknown(err error) error {
	g.Log.Info("Discord sent an event that this host does not know", "error", err)
	return nil
}

// keepMessage keeps what a member wrote. Bots and Discord itself are not heard.
func (g *gateway) keepMessage(ctx context.Context, m *message) error {
	me := g.self.Load()
	if !isID(m.ID) || !isID(m.Channel) || m.Author == nil || !isID(m.Author.ID) || m.Author.Bot || m.Webhook != "" || m.Author.ID == me.id ||
		m.Type != 0 && m.Type != 19 || len(m.Files) > maxInFiles {
		return nil
	}
	chat, thread, ok, err := g.place(ctx, m.Channel)
	if err != nil {
		return err
	}
	private := m.Guild == "" && g.direct(m.Channel)
	if !ok {
		switch k := (channel.Knock{Chat: chatOf(m.Channel), Time: timeOf(m.ID)}); {
		case g.Knock == nil:
		case private:
			k.From = nameOf(*m.Author, m.Member)
			g.Knock(k)
		case slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me.id }): // a bot hears every channel of its server
			k.Shared = true
			g.Knock(k)
		}
		return nil
	}
	ev := event{Channel: m.Channel, Thread: thread, Private: private, Sender: m.Author.ID, Name: g.world.name(m.Author.ID, nameOf(*m.Author, m.Member)),
		Role: g.roleIn(m.Guild, private, m.Author.ID, m.Member), Text: readable(m), Files: bounded(m.Files), UnixMsec: timeOf(m.ID).UnixMilli()}
	ev.Direct, ev.Command = private, wordOf(m.Text, me.id)
	for _, u := range m.Mentions {
		ev.Direct = ev.Direct || u.ID == me.id
	}
	if a := m.Answers; a != nil && a.Author != nil && isID(a.ID) {
		ev.Quote = &quote{ID: a.ID, Sender: a.Author.ID, Name: nameOf(*a.Author, a.Member), Text: readable(a), Own: a.Author.ID == me.id, Files: bounded(a.Files)}
		ev.Direct = ev.Direct || ev.Quote.Own
	}
	return g.store(ctx, chat, m.ID, ev, false)
}

// wordOf is the word of the host in a message that is a mention of the bot and that
// word.
func wordOf(text, me string) string {
	text = strings.TrimSpace(text)
	after, ok := strings.CutPrefix(text, "<@"+me+">")
	if !ok {
		after, ok = strings.CutPrefix(text, "<@!"+me+">")
	}
	if word := strings.ToLower(strings.TrimSpace(strings.TrimLeft(after, ":, "))); ok && isWord(word) {
		return word
	}
	return ""
}

// direct says whether a channel is a direct message. One that no server has told of
// is: a message by the gateway names its server otherwise.
func (d *Discord) direct(id string) bool {
	r, ok := d.world.room(id)
	return !ok || r.Type == typeDM
}

func (d *Discord) roleIn(guildID string, private bool, user string, m *member) channel.Role {
	if private {
		return channel.RoleAdmin
	}
	if g := d.world.guild(guildID); g != nil && m != nil {
		return g.role(user, m.Roles)
	}
	return channel.RoleUnknown
}

func (g *gateway) store(ctx context.Context, chat groups.JID, id string, ev event, isEvent bool) error {
	if ev.UnixMsec == 0 {
		ev.UnixMsec = time.Now().UnixMilli()
	}
	body, err := json.Marshal(ev, lenient)
	if err != nil {
		return g.unknown(err)
	}
	return g.journal.Keep(ctx, journal.Inbound{Chat: chat, ID: id, Sender: ev.Sender, Info: []byte{}, Body: body, Received: time.Now(), Event: isEvent})
}

// bounded are files whose fields have the form of Discord's.
func bounded(files []attachment) (all []attachment) {
	for _, f := range files[:min(len(files), maxInFiles)] {
		if isID(f.ID) && len(f.URL) <= maxURL {
			f.Name, f.Long, f.MIME, f.Wave = media.Cut(f.Name, 300), media.Cut(f.Long, 300), media.Cut(f.MIME, 100), media.Cut(f.Wave, 1)
			all = append(all, f)
		}
	}
	return all
}

// readable is a text with names instead of the ids of those whom it mentions.
func readable(m *message) string {
	text := media.Cut(m.Text, maxIn)
	for _, u := range m.Mentions[:min(len(m.Mentions), 50)] {
		if name := nameOf(u, nil); isID(u.ID) && name != "" {
			text = strings.NewReplacer("<@"+u.ID+">", "@"+name, "<@!"+u.ID+">", "@"+name).Replace(text)
		}
	}
	return text
}

// keepChange keeps that a member edited a message or deleted it. Who wrote it is in the
// journal: Discord does not say who deletes one.
func (g *gateway) keepChange(ctx context.Context, f frame, id string) error {
	var m message
	if err := json.Unmarshal(f.Data, &m, lenient); err != nil {
		return g.unknown(err)
	}
	if !isID(m.ID) || !isID(m.Channel) || f.Type == "MESSAGE_UPDATE" && (m.Edited == "" || m.Author == nil || m.Author.Bot) {
		return nil // a preview was added, or it is a bot's
	}
	chat, thread, ok, err := g.place(ctx, m.Channel)
	if err != nil || !ok {
		return err
	}
	was, err := g.journal.Inbound(ctx, chat, m.ID)
	if err != nil || was == nil {
		return err
	}
	var before event
	if err := json.Unmarshal(was.Body, &before, lenient); err != nil {
		return g.unknown(err)
	}
	ev := event{Kind: channel.KindDeletion, Channel: m.Channel, Thread: thread, Target: m.ID, Sender: before.Sender, Name: before.Name, Role: before.Role}
	if f.Type == "MESSAGE_UPDATE" {
		if ev.Kind, ev.Text = channel.KindEdit, readable(&m); ev.Text == before.Text {
			return nil
		}
	}
	return g.store(ctx, chat, id, ev, true)
}

// keepReaction keeps that a member reacted, or took a reaction back.
func (g *gateway) keepReaction(ctx context.Context, f frame, id string) error {
	var r struct {
		User    string  `json:"user_id"`
		Channel string  `json:"channel_id"`
		Guild   string  `json:"guild_id"`
		Message string  `json:"message_id"`
		Member  *member `json:"member"`
		Emoji   struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"emoji"`
	}
	if err := json.Unmarshal(f.Data, &r, lenient); err != nil {
		return g.unknown(err)
	}
	if !isID(r.User) || !isID(r.Channel) || !isID(r.Message) || r.User == g.self.Load().id || r.Member != nil && r.Member.User.Bot {
		return nil
	}
	chat, thread, ok, err := g.place(ctx, r.Channel)
	if err != nil || !ok {
		return err
	}
	name := ""
	if r.Member != nil {
		name = nameOf(r.Member.User, r.Member)
	}
	ev := event{Kind: channel.KindReaction, Channel: r.Channel, Thread: thread, Target: r.Message, Sender: r.User, Name: g.world.name(r.User, name),
		Role: g.roleIn(r.Guild, r.Guild == "", r.User, r.Member)}
	if f.Type == "MESSAGE_REACTION_ADD" {
		if ev.Emoji = r.Emoji.Name; r.Emoji.ID != "" { // a server's own has only a name
			ev.Emoji = ":" + r.Emoji.Name + ":"
		}
		ev.Emoji = channel.CleanName(ev.Emoji)
	}
	return g.store(ctx, chat, id, ev, true)
}

// keepMoved keeps that a member joined the server or left it, in each of its chats.
func (g *gateway) keepMoved(ctx context.Context, f frame, id string) error {
	var m struct {
		member
		Guild string `json:"guild_id"`
	}
	if err := json.Unmarshal(f.Data, &m, lenient); err != nil {
		return g.unknown(err)
	}
	if !isID(m.User.ID) || !isID(m.Guild) || m.User.Bot {
		return nil
	}
	ev := event{Kind: channel.KindMembership, Sender: m.User.ID, Name: g.world.name(m.User.ID, nameOf(m.User, &m.member)), Joined: f.Type == "GUILD_MEMBER_ADD"}
	for _, c := range g.Served() {
		if r, ok := g.world.room(idOf(c.JID)); ok && r.Guild == m.Guild {
			ev.Channel = idOf(c.JID)
			if err := g.store(ctx, c.JID, id, ev, true); err != nil {
				return err
			}
		}
	}
	return nil
}
