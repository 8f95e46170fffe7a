package discord

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Right is a permission of the bot, and what the host uses it for.
type Right struct {
	Name string // as Discord's settings have it
	Bit  uint64
	Why  string
}

// Rights returns the permissions that the bot needs, with their bits of
// discord.com/developers/docs/topics/permissions.
func Rights() []Right {
	return []Right{
		{"View Channels", 1 << 10, "hears and sees the chat"},
		{"Send Messages", 1 << 11, "posts the assistant's messages"},
		{"Send Messages in Threads", 1 << 38, "the same in threads"},
		{"Attach Files", 1 << 15, "posts the assistant's files"},
		{"Send Voice Messages", 1 << 46, "posts voice notes as such; without it they are files"},
		{"Read Message History", 1 << 16, "answers a message, looks whether a message arrived, and reads what was written while the host was away"},
		{"Add Reactions", 1 << 6, "lets the assistant react"},
	}
}

// Invitation returns the link by which the owner of a server adds the application's bot, with
// exactly its rights.
func Invitation(application string) string {
	all := uint64(0)
	for _, r := range Rights() {
		all |= r.Bit
	}
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot&permissions=%d", application, all)
}

// Show implements bot.Paired.
func (d *Discord) Show(ctx context.Context, p channel.Pairing) error {
	me := d.self.Load()
	p.Say("  %s Message Content Intent, without which it hears mentions and direct messages only", state(me.flags&flagContent))
	p.Say("  %s Server Members Intent, with which it hears who joins and leaves", state(me.flags&flagMembers))
	if me.flags&flagContent == 0 || me.flags&flagMembers == 0 {
		p.Say("  of what is missing: switch it on at %s", settingsOf(me.app))
	}
	p.Say("add the bot to a server with this link: %s", Invitation(me.app))
	chats, err := d.Chats(ctx)
	if err != nil {
		return fmt.Errorf("list channels: %w", err)
	}
	for _, c := range chats {
		p.Say("  %-24s %s", c.JID, c.Name)
	}
	if len(chats) == 0 {
		p.Say("  it is on no server yet")
	}
	if p.To == "" {
		return nil
	}
	if missing, err := d.missing(ctx, p.To); err == nil && len(missing) > 0 {
		p.Say("in %s the bot lacks: %s", p.To, strings.Join(missing, ", "))
	}
	return nil
}

func state(flag int) string {
	if flag == 0 {
		return "MISSING"
	}
	return "ok     "
}

// maxGuilds is how many servers are asked for their channels.
const maxGuilds = 50

// Chats implements channel.Lister: the text channels of the servers that the bot is on.
func (d *Discord) Chats(ctx context.Context) (all []channel.Chat, err error) {
	var guilds []guild
	if err := d.api.Ask(ctx, "GET", "users/@me/guilds", nil, &guilds); err != nil {
		return nil, err
	}
	for _, g := range guilds[:min(len(guilds), maxGuilds)] {
		var channels []discordChannel
		if err := d.api.Ask(ctx, "GET", "guilds/"+g.ID+"/channels", nil, &channels); err != nil {
			return nil, err
		}
		for _, c := range channels {
			if (c.Type == 0 || c.Type == 5) && isID(c.ID) { // text, announcements
				all = append(all, channel.Chat{JID: chatOf(c.ID), Name: channel.CleanName("#" + c.Name), Note: channel.CleanName(g.Name)})
			}
		}
	}
	channel.SortChats(all)
	return all, nil
}

// missing returns the rights that the bot lacks in a chat; none in a direct message.
func (d *Discord) missing(ctx context.Context, chat groups.JID) (names []string, err error) {
	var r struct {
		Guild      string      `json:"guild_id"`
		Overwrites []overwrite `json:"permission_overwrites"`
	}
	if err := d.api.Ask(ctx, "GET", "channels/"+idOf(chat), nil, &r); err != nil || !isID(r.Guild) {
		return nil, err
	}
	me := d.self.Load()
	var g guild
	var m member
	if err = d.api.Ask(ctx, "GET", "guilds/"+r.Guild, nil, &g); err == nil {
		err = d.api.Ask(ctx, "GET", "guilds/"+r.Guild+"/members/"+me.id, nil, &m)
	}
	if err != nil {
		return nil, err
	}
	has := g.rights(me.id, m.Roles, r.Overwrites)
	for _, right := range Rights() {
		if has&right.Bit == 0 {
			names = append(names, right.Name)
		}
	}
	return names, nil
}

// Examine implements channel.Platform: it asks Discord about the token, the intents and
// the rights in the groups' chats.
func (p platform) Examine(ctx context.Context, s channel.Setup, running bool) []finding.Finding {
	d, err := p.newOf(s)
	return p.Kind.Examine(ctx, s, d, err, running)
}

// Look implements bot.Paired.
func (d *Discord) Look(ctx context.Context, _ bool, found bot.Found) {
	me := d.self.Load()
	if me.flags&flagContent == 0 {
		found(finding.Warning, "the bot hears mentions and direct messages only", "switch on Message Content Intent at "+settingsOf(me.app))
	}
	for _, c := range d.Served() {
		missing, err := d.missing(ctx, c.JID)
		switch {
		case err != nil:
			found(finding.Warning, string(c.JID)+": "+err.Error(), cmp.Or(channel.HintOf(err), "add the bot to the server: "+Invitation(me.app)))
		case len(missing) > 0:
			found(finding.Warning, string(c.JID)+": the bot lacks "+strings.Join(missing, ", "), "give its role these rights there in Discord, or add it again: "+Invitation(me.app))
		}
	}
}
