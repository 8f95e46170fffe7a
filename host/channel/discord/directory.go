package discord

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/cache"
)

// directory remembers what Discord has said of servers, channels and members. The zero value is
// ready.
type directory struct {
	guilds   cache.Map[string, *guild]
	channels cache.Map[string, discordChannel]
	names    cache.Map[string, string] // of users
}

// guild is a server.
type guild struct {
	ID     string `json:"id"`
	Within string `json:"guild_id"` // of an event that is about a server's part
	Name   string `json:"name"`
	Owner  string `json:"owner_id"`
	Tier   int    `json:"premium_tier"`
	Roles  []struct {
		ID          string `json:"id"`
		Permissions string `json:"permissions"` // a number of 64 bits
		Tags        struct {
			Bot string `json:"bot_id"` // whose own role it is
		} `json:"tags"`
	} `json:"roles"`
	Channels []discordChannel `json:"channels"`
	Threads  []discordChannel `json:"threads"`
}

// discordChannel is a channel, a thread or a direct message.
type discordChannel struct {
	ID     string `json:"id"`
	Type   int    `json:"type"`
	Guild  string `json:"guild_id"`
	Parent string `json:"parent_id"`
	Name   string `json:"name"`
}

// thread reports whether a channel is a thread, of which Discord has three types.
func (c discordChannel) thread() bool { return c.Type >= 10 && c.Type <= 12 }

func (d *directory) addChannels(all ...discordChannel) {
	for _, c := range all {
		d.channels.Set(c.ID, c)
	}
}

func (d *directory) addGuild(g *guild) {
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		c.Guild = g.ID
		d.channels.Set(c.ID, c)
	}
	d.guilds.Set(g.ID, g)
}

// guild returns a server; nil if Discord has not told of it.
func (d *directory) guild(id string) *guild {
	g, _ := d.guilds.Get(id)
	return g
}

// name remembers a member's name, and returns it if an event leaves it out; else the id.
func (d *directory) name(id, name string) string {
	if name != "" {
		d.names.Set(id, name)
		return name
	}
	known, _ := d.names.Get(id)
	return cmp.Or(known, id)
}

// The rights that make a member an admin: Administrator and Manage Server.
const adminRights = administrator | 1<<5

// role returns a member's role, by the ids of the member's Discord roles.
func (g *guild) role(user string, roles []string) channel.Role {
	if g.rights(user, roles, nil)&adminRights != 0 {
		return channel.RoleAdmin
	}
	return channel.RoleMember
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
		if n, err := strconv.ParseUint(s, 10, 64); err == nil {
			return n
		}
		return 0
	}
	for _, r := range g.Roles {
		if r.ID == g.ID || slices.Contains(roles, r.ID) {
			rights |= number(r.Permissions)
		}
	}
	if user == g.Owner || rights&administrator != 0 {
		return ^uint64(0)
	}
	for step := range 3 { // everybody, the roles, the member
		allow, deny := uint64(0), uint64(0)
		for _, o := range all {
			if [3]bool{o.ID == g.ID, o.Type == 0 && o.ID != g.ID && slices.Contains(roles, o.ID), o.Type == 1 && o.ID == user}[step] {
				allow, deny = allow|number(o.Allow), deny|number(o.Deny)
			}
		}
		rights = rights&^deny | allow
	}
	return rights
}

// mentioned reports whether the bot's own role is among those that a text mentions: Discord offers
// members that role under the bot's name. g may be nil.
func (g *guild) mentioned(roles []string, bot string) bool {
	for i := 0; g != nil && i < len(g.Roles); i++ {
		if r := g.Roles[i]; r.Tags.Bot == bot && slices.Contains(roles, r.ID) {
			return true
		}
	}
	return false
}

// learn records what an event says of servers and channels.
func (d *Discord) learn(kind string, data []byte) {
	switch kind {
	case "GUILD_CREATE", "GUILD_UPDATE":
		var g guild
		if json.Unmarshal(data, &g, lenient) == nil && isID(g.ID) {
			d.directory.addGuild(&g)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var c discordChannel
		if json.Unmarshal(data, &c, lenient) == nil && isID(c.ID) {
			d.directory.addChannels(c)
		}
	case "THREAD_LIST_SYNC", "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		var g guild
		if json.Unmarshal(data, &g, lenient) != nil {
			break
		}
		if d.directory.addChannels(g.Threads...); kind != "THREAD_LIST_SYNC" { // it is asked for when it is needed
			d.directory.guilds.Delete(g.Within)
		}
	}
	switch kind {
	case "GUILD_CREATE", "CHANNEL_UPDATE", "GUILD_ROLE_UPDATE", "GUILD_MEMBER_UPDATE":
		d.Barred.Clear()
	}
}

// channelOf returns a channel as Discord knows it, and asks for one that is not in the
// directory. A channel that the bot cannot see is the zero value.
func (d *Discord) channelOf(ctx context.Context, id string) (discordChannel, error) {
	c, ok := d.directory.channels.Get(id)
	if ok {
		return c, nil
	}
	err := d.api.Ask(ctx, "GET", "channels/"+id, nil, &c)
	if hidden(err) {
		c, err = discordChannel{}, nil
	}
	if err == nil {
		known := c
		known.ID = id
		d.directory.addChannels(known)
	}
	return c, err
}

// hidden reports whether Discord refused what the bot may not see, or what is not there.
func hidden(err error) bool {
	e, ok := errors.AsType[*channel.Error](err)
	return ok && (e.Class == channel.Permanent || slices.Contains([]string{"discord_no_access", "discord_right_missing", "discord_forbidden"}, e.Code))
}

// locate returns the group's chat in which a channel or a thread lies; ok is false if it is in
// none.
func (d *Discord) locate(ctx context.Context, id string) (chat groups.JID, thread string, ok bool, err error) {
	if chat = chatOf(id); d.Serves(chat) {
		return chat, "", true, nil
	}
	c, err := d.channelOf(ctx, id)
	if err != nil || !c.thread() || !isID(c.Parent) {
		return "", "", false, err
	}
	chat = chatOf(c.Parent)
	return chat, id, d.Serves(chat), nil
}

// guildOf returns the server of a chat, and asks Discord if it is not known; nil for a direct
// message.
func (d *Discord) guildOf(ctx context.Context, chat groups.JID) (*guild, error) {
	c, err := d.channelOf(ctx, idOf(chat))
	if err != nil || !isID(c.Guild) {
		return nil, err
	}
	if g := d.directory.guild(c.Guild); g != nil {
		return g, nil
	}
	g := &guild{}
	if err := d.api.Ask(ctx, "GET", "guilds/"+c.Guild, nil, g); err != nil {
		return nil, err
	}
	d.directory.addGuild(g)
	return g, nil
}

// RoleOf implements channel.Roles. Admins are the server's owner and members with the right
// Administrator or Manage Server. In a direct message the member is an admin.
func (d *Discord) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	if !isID(sender) {
		return channel.RoleUnknown, nil
	}
	g, err := d.guildOf(ctx, chat)
	var m member
	if g != nil {
		err = d.api.Ask(ctx, "GET", "guilds/"+g.ID+"/members/"+sender, nil, &m)
	}
	c, _ := d.directory.channels.Get(idOf(chat))
	switch class := channel.ClassOf(err); {
	case class == channel.Permanent || class == channel.Held, err == nil && g == nil && c.Type != typeDM:
		return channel.RoleUnknown, nil
	case err != nil:
		return channel.RoleUnknown, err
	case g == nil:
		return channel.RoleAdmin, nil
	}
	return g.role(sender, m.Roles), nil
}

// typeDM is the type of a direct message with one person.
const typeDM = 1
