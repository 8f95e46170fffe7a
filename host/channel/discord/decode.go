package discord

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Global   string `json:"global_name"`
	Bot      bool   `json:"bot"`
	System   bool   `json:"system"` // Discord itself

	Member *member `json:"member"` // of somebody who is mentioned
}

type member struct {
	Nick  string   `json:"nick"`
	Roles []string `json:"roles"`
	User  user     `json:"user"`
}

// nameOf returns the name that members see of a user.
func nameOf(u user, m *member) string {
	nick := ""
	if m != nil {
		nick = m.Nick
	}
	return cmp.Or(channel.CleanName(nick), channel.CleanName(u.Global), channel.CleanName(u.Username))
}

// head is what every message has.
type head struct {
	ID      string  `json:"id"`
	Channel string  `json:"channel_id"`
	Guild   string  `json:"guild_id"` // the gateway's alone
	Type    int     `json:"type"`
	Author  *user   `json:"author"`
	Member  *member `json:"member"` // the gateway's alone
	Webhook string  `json:"webhook_id"`
}

// message is a message as the API and the gateway have it:
// discord.com/developers/docs/resources/message.
type message struct {
	head
	Text   string `json:"content"`
	Edited string `json:"edited_timestamp"`
	Refers struct {
		ID   string `json:"message_id"`
		Type int    `json:"type"`
	} `json:"message_reference"`
	Mentions  []user       `json:"mentions"`
	Roles     []string     `json:"mention_roles"`
	Files     []attachment `json:"attachments"`
	Answers   *message     `json:"referenced_message"`
	Snapshots []struct {
		Message message `json:"message"`
	} `json:"message_snapshots"`
	Stickers   []sticker                 `json:"sticker_items"`
	Poll       map[string]any            `json:"poll"`
	Embeds     []map[string]any          `json:"embeds"`
	Components any                       `json:"components"`
	Rest       map[string]jsontext.Value `json:",embed"` // everything else
}

// readMessage reads a message. If a field has an unexpected form, it reads the head alone, so that
// the message comes in as one that cannot be shown.
func readMessage(data []byte) (m message, err error) {
	if err = json.Unmarshal(data, &m, lenient); err != nil {
		m = message{}
		err = json.Unmarshal(data, &m.head, lenient)
	}
	return m, err
}

// decode returns what members wrote and did by an event of the gateway, as far as the event alone
// says it; nothing if no member did anything.
func decode(kind string, data []byte, me *self) ([]event, error) {
	switch kind {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		m, err := readMessage(data)
		if kind == "MESSAGE_UPDATE" {
			return m.edits(me), err
		}
		return m.events(me), err
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		return decodeDeletion(data)
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
		return decodeReaction(data, kind == "MESSAGE_REACTION_ADD", me)
	case "GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE":
		return decodeMoved(data, kind == "GUILD_MEMBER_ADD")
	case "INTERACTION_CREATE":
		return decodeInteraction(data, me)
	}
	return nil, nil
}

// byPerson reports whether a person wrote a message, and not a bot, a webhook or Discord.
func (m *message) byPerson() bool {
	return m.Author != nil && isID(m.Author.ID) && !m.Author.Bot && !m.Author.System && m.Webhook == ""
}

// events returns what a member wrote, or what Discord wrote in a member's name; nothing if it is
// neither, or if the bot may not read it.
func (m *message) events(me *self) []event {
	if !isID(m.ID) || !isID(m.Channel) || !m.byPerson() || m.Author.ID == me.id || systemTypes[m.Type].ignored != "" {
		return nil
	}
	c := m.content()
	ev := event{own: own{Channel: m.Channel}, guild: m.Guild, member: m.Member, mentions: m.Roles, Inbound: channel.Inbound{ID: m.ID, Kind: c.kind, Sender: m.Author.ID,
		From: nameOf(*m.Author, m.Member), Text: c.text, Told: c.told, Forwarded: c.forwarded, Time: timeOf(m.ID)}}
	ev.Files = ev.attach(c.files)
	if c.kind == channel.KindNote {
		return []event{ev}
	}
	ev.Command = wordOf(m.Text, me.id)
	ev.Direct = slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me.id })
	if a := m.Answers; a != nil && a.Author != nil && isID(a.ID) {
		was := a.content()
		ev.Quote = &channel.Quote{ID: a.ID, Sender: a.Author.ID, From: nameOf(*a.Author, a.Member), Text: was.text, Own: a.Author.ID == me.id, Forwarded: was.forwarded, Files: ev.attach(was.files)}
		if ev.Quote.Own && a.Text != "" { // without the buttons of a question
			ev.Quote.Text = readable(a)
		}
		ev.Direct = ev.Direct || ev.Quote.Own
	}
	if c.told != "" && me.flags&flagContent == 0 && m.Guild != "" && !ev.Direct {
		return nil // Discord empties it; the channel's status says so
	}
	return []event{ev}
}

// edits returns the new text of a message that a member edited. Discord sends the same event when
// it adds a preview, without the time of an edit.
func (m *message) edits(me *self) []event {
	if m.Edited == "" {
		return nil
	}
	all := m.events(me)
	for i, ev := range all {
		all[i] = event{guild: ev.guild, own: own{Channel: ev.Channel}, Inbound: channel.Inbound{Kind: channel.KindEdit, Target: m.ID, Text: ev.Text}}
	}
	return all
}

// wordOf returns the host's word of a message that is a mention of the bot and that word alone;
// else nothing.
func wordOf(text, me string) string {
	for _, mention := range []string{"<@" + me + ">", "<@!" + me + ">"} {
		if after, ok := strings.CutPrefix(strings.TrimSpace(text), mention); ok {
			return bot.CommandAfter(after)
		}
	}
	return ""
}

// decodeDeletion leaves the writer out: Discord does not say who wrote a deleted message.
func decodeDeletion(data []byte) (all []event, err error) {
	var gone struct {
		ID      string   `json:"id"`
		IDs     []string `json:"ids"`
		Channel string   `json:"channel_id"`
		Guild   string   `json:"guild_id"`
	}
	if err := json.Unmarshal(data, &gone, lenient); err != nil || !isID(gone.Channel) {
		return nil, err
	}
	for _, id := range append(gone.IDs[:min(len(gone.IDs), maxBulk)], gone.ID) {
		if isID(id) {
			all = append(all, event{guild: gone.Guild, own: own{Channel: gone.Channel}, Inbound: channel.Inbound{Kind: channel.KindDeletion, Target: id}})
		}
	}
	return all, nil
}

func decodeReaction(data []byte, on bool, me *self) ([]event, error) {
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
	if err := json.Unmarshal(data, &r, lenient); err != nil || !isID(r.User) || !isID(r.Channel) || !isID(r.Message) || r.User == me.id || r.Member != nil && r.Member.User.Bot {
		return nil, err
	}
	ev := event{guild: r.Guild, member: r.Member, own: own{Channel: r.Channel}, Inbound: channel.Inbound{Kind: channel.KindReaction, Target: r.Message, Sender: r.User}}
	if r.Member != nil {
		ev.From = nameOf(r.Member.User, r.Member)
	}
	if on {
		if ev.Emoji = r.Emoji.Name; r.Emoji.ID != "" { // a server's own has only a name
			ev.Emoji = ":" + r.Emoji.Name + ":"
		}
		ev.Emoji = channel.CleanName(ev.Emoji)
	}
	return []event{ev}, nil
}

func decodeMoved(data []byte, joined bool) ([]event, error) {
	var m struct {
		member
		Guild string `json:"guild_id"`
	}
	if err := json.Unmarshal(data, &m, lenient); err != nil || !isID(m.User.ID) || !isID(m.Guild) || m.User.Bot {
		return nil, err
	}
	who := []channel.Person{{Name: nameOf(m.User, &m.member), Sender: m.User.ID}}
	ev := event{guild: m.Guild, Inbound: channel.Inbound{Kind: channel.KindMembership, Left: who}}
	if joined {
		ev.Joined, ev.Left = who, nil
	}
	return []event{ev}, nil
}

// interaction is a member's press of a button or a command, as Discord sends it.
type interaction struct {
	ID      string  `json:"id"`
	App     string  `json:"application_id"`
	Type    int     `json:"type"`
	Token   string  `json:"token"` // a secret: with it, anybody may answer
	Guild   string  `json:"guild_id"`
	Channel string  `json:"channel_id"`
	Member  *member `json:"member"` // in a server
	User    *user   `json:"user"`   // in a direct message
	Data    struct {
		Name   string `json:"name"`      // of a command
		Button string `json:"custom_id"` // of a button
	} `json:"data"`
	Message struct {
		ID string `json:"id"` // that has the button
	} `json:"message"`
}

// by returns who acted; nil if Discord does not say.
func (i *interaction) by() *user {
	who := i.User
	if i.Member != nil {
		who = &i.Member.User
	}
	if who == nil || !isID(who.ID) || who.Bot {
		return nil
	}
	return who
}

// decodeInteraction reads a press of a button or a command, and adds the answer for Discord.
func decodeInteraction(data []byte, me *self) ([]event, error) {
	var i interaction
	if err := json.Unmarshal(data, &i, lenient); err != nil {
		return nil, err
	}
	who := i.by()
	if !isID(i.ID) || !isID(i.Channel) || i.App != me.app || i.Token == "" || len(i.Token) > maxInteraction || who == nil {
		return nil, nil
	}
	ev := event{guild: i.Guild, member: i.Member, own: own{Channel: i.Channel}, answer: &reply{id: i.ID, token: i.Token},
		Inbound: channel.Inbound{ID: "act-" + i.ID, Sender: who.ID, From: nameOf(*who, i.Member), Time: timeOf(i.ID)}}
	switch {
	case i.Type == interactionCommand && bot.IsCommand(i.Data.Name):
		ev.Command, ev.Direct = i.Data.Name, true
	case i.Type == interactionButton && isID(i.Message.ID):
		ev.Kind, ev.Target = channel.KindVote, i.Message.ID
		ev.Poll, ev.Choice, _ = bot.ButtonOf(i.Data.Button)
	default:
		return nil, nil
	}
	return []event{ev}, nil
}

// unknown returns Discord's name of the first thing in a message for which the channel has no
// field.
func (m *message) unknown() string {
	if m.Type != typeDefault && m.Type != typeReply {
		return "type-" + strconv.Itoa(m.Type)
	}
	if m.Refers.Type == refersForward {
		return "message_snapshots"
	}
	for _, name := range slices.Sorted(maps.Keys(m.Rest)) {
		blank := slices.Contains([]string{"null", `""`, "[]", "{}", "false", "0"}, string(m.Rest[name]))
		if _, ignored := ignoredFields[name]; !ignored && !blank && channel.ToldName(name) {
			return name
		}
	}
	return "message"
}
