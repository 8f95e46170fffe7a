package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media/probe"
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

// Account implements channel.Linker.
func (platform) Account() channel.Account {
	return channel.Account{
		Pair: "make a Discord bot, check its token, and send a test file",
		About: `discord says how to make a bot while the channel has no token. Then it checks the token
and what the bot may hear, prints the link that invites it with exactly the rights that
it needs, and lists the channels that it sees. With --to it sends a small file to one.`,
	}
}

// Link implements channel.Linker.
func (platform) Link(ctx context.Context, c channel.Channel, p channel.Pairing) (string, error) {
	return c.(*Discord).pair(ctx, p)
}

// Guide implements channel.Linker: how a bot is made.
func (platform) Guide(name string) string {
	return `1. At https://discord.com/developers/applications choose New Application.
2. Under Bot, switch on Message Content Intent and, to hear who joins and leaves, Server Members Intent.
3. There, choose Reset Token: bot_token of channels.` + name + `. longshore.yaml holds ${NAME} and the
   environment the token, or bot_token_file names a file.
4. Run this command again.`
}

// pair checks everything that the channel needs, and says what is missing.
func (d *Discord) pair(ctx context.Context, p channel.Pairing) (string, error) {
	if d.api.token == "" {
		channel.SayLines(p, platform{}.Guide(d.Name()))
		return "", errors.New("the channel has no token yet")
	}
	if p.To != "" && !d.Owns(p.To) {
		return "", fmt.Errorf("%q is no chat of Discord: write dc: and the channel's id, such as dc:1234567890", p.To)
	}
	me, err := d.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("bot_token: %w", bot.ForCommand(err, "discord.com"))
	}
	p.Say("bot token: %s", me.name)
	p.Say("  %s Message Content Intent, without which it hears mentions and direct messages only", state(me.flags&flagContent))
	p.Say("  %s Server Members Intent, with which it hears who joins and leaves", state(me.flags&flagMembers))
	if me.flags&flagContent == 0 || me.flags&flagMembers == 0 {
		p.Say("  of what is missing: switch it on at %s", settingsOf(me.app))
	}
	p.Say("add the bot to a server with this link: %s", Invitation(me.app))
	chats, err := d.Chats(ctx)
	if err != nil {
		return "", fmt.Errorf("list channels: %w", err)
	}
	for _, c := range chats {
		p.Say("  %-24s %s", c.JID, c.Name)
	}
	if len(chats) == 0 {
		p.Say("  it is on no server yet")
	}
	d.self.Store(me)
	return me.name, d.test(ctx, p)
}

func state(flag int) string {
	if flag == 0 {
		return "MISSING"
	}
	return "ok     "
}

// test sends a file to a chat, if one is named.
func (d *Discord) test(ctx context.Context, p channel.Pairing) error {
	if p.To == "" {
		p.Say("a test file goes to a chat with: --to CHAT")
		return nil
	}
	if missing, err := d.missing(ctx, p.To); err == nil && len(missing) > 0 {
		p.Say("in %s the bot lacks: %s", p.To, strings.Join(missing, ", "))
	}
	m := bot.TestMessage(p.To)
	if _, err := d.create(ctx, m, idOf(p.To), probe.Facts{}); err != nil {
		return fmt.Errorf("send a test file: %w", err)
	}
	p.Say("the chat has a test file")
	return nil
}

// maxGuilds is how many servers are asked for their channels.
const maxGuilds = 50

// Chats implements channel.Lister: the text channels of the servers that the bot is on.
func (d *Discord) Chats(ctx context.Context) (all []channel.Chat, err error) {
	var guilds []guild
	if err := d.api.call(ctx, "GET", "users/@me/guilds", nil, &guilds); err != nil {
		return nil, err
	}
	for _, g := range guilds[:min(len(guilds), maxGuilds)] {
		var channels []discordChannel
		if err := d.api.call(ctx, "GET", "guilds/"+g.ID+"/channels", nil, &channels); err != nil {
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
	if err := d.api.call(ctx, "GET", "channels/"+idOf(chat), nil, &r); err != nil || !isID(r.Guild) {
		return nil, err
	}
	me := d.self.Load()
	var g guild
	var m member
	if err := d.api.call(ctx, "GET", "guilds/"+r.Guild, nil, &g); err != nil {
		return nil, err
	}
	if err := d.api.call(ctx, "GET", "guilds/"+r.Guild+"/members/"+me.id, nil, &m); err != nil {
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

// overwrite gives and takes rights in one channel, of a role or a member.
type overwrite struct {
	ID    string `json:"id"`
	Type  int    `json:"type"` // 0: a role, 1: a member
	Allow string `json:"allow"`
	Deny  string `json:"deny"`
}

// administrator is the right to everything.
const administrator = 1 << 3

// rights returns a member's rights in a channel. They follow, in this order, from the roles and from
// the channel's overwrites for everybody, for the roles and for the member:
// discord.com/developers/docs/topics/permissions, Permission Overwrites.
func (g *guild) rights(user string, roles []string, all []overwrite) (rights uint64) {
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	for _, r := range g.Roles {
		if r.ID == g.ID || slices.Contains(roles, r.ID) {
			rights |= number(r.Permissions)
		}
	}
	if user == g.Owner || rights&administrator != 0 {
		return ^uint64(0)
	}
	for _, of := range []func(overwrite) bool{
		func(o overwrite) bool { return o.ID == g.ID },
		func(o overwrite) bool { return o.Type == 0 && o.ID != g.ID && slices.Contains(roles, o.ID) },
		func(o overwrite) bool { return o.Type == 1 && o.ID == user },
	} {
		allow, deny := uint64(0), uint64(0)
		for _, o := range all {
			if of(o) {
				allow, deny = allow|number(o.Allow), deny|number(o.Deny)
			}
		}
		rights = rights&^deny | allow
	}
	return rights
}

// Examine implements channel.Platform: it asks Discord about the token, the intents and
// the rights in the groups' chats.
func (p platform) Examine(ctx context.Context, setup channel.Setup, _ bool) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	e := channel.Examination{Channel: setup.Name}
	d, err := newOf(setup, p.net)
	if err != nil {
		e.Found(finding.Fault, err.Error(), "")
		return e.All
	}
	defer d.api.close()
	if d.api.token == "" {
		stop := d.NotPaired(noToken)
		e.Found(finding.Warning, stop.Message, stop.Hint)
		return e.All
	}
	me, err := d.ask(ctx)
	if err != nil {
		e.Found(finding.Fault, "the bot token: "+err.Error(), channel.HintOf(bot.ForCommand(err, "discord.com")))
		return e.All
	}
	d.self.Store(me)
	if me.flags&flagContent == 0 {
		e.Found(finding.Warning, "the bot hears mentions and direct messages only", "switch on Message Content Intent at "+settingsOf(me.app))
	}
	for _, c := range setup.Chats {
		missing, err := d.missing(ctx, c.JID)
		switch {
		case err != nil:
			e.Found(finding.Warning, string(c.JID)+": "+err.Error(), cmp.Or(channel.HintOf(err), "add the bot to the server: "+Invitation(me.app)))
		case len(missing) > 0:
			e.Found(finding.Warning, string(c.JID)+": the bot lacks "+strings.Join(missing, ", "), "give its role these rights there in Discord, or add it again: "+Invitation(me.app))
		}
	}
	if len(e.All) == 0 {
		e.Found(finding.Fine, "connects as "+me.name, "")
	}
	return e.All
}
