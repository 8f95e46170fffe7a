package discord

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// world is what Discord has said of servers, channels and members. The zero world is
// ready.
type world struct {
	mu     sync.Mutex
	guilds map[string]*guild
	rooms  map[string]room
	names  map[string]string // of users
}

// maxKnown is how many channels and names are remembered.
const maxKnown = 20_000

// guild is a server.
type guild struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Owner string `json:"owner_id"`
	Tier  int    `json:"premium_tier"`
	Roles []struct {
		ID     string `json:"id"`
		Rights string `json:"permissions"` // a number of 64 bits
		Tags   struct {
			Bot string `json:"bot_id"` // whose own role it is
		} `json:"tags"`
	} `json:"roles"`
	Channels []room `json:"channels"`
	Threads  []room `json:"threads"`
}

// room is a channel, a thread or a direct message.
type room struct {
	ID     string `json:"id"`
	Type   int    `json:"type"`
	Guild  string `json:"guild_id"`
	Parent string `json:"parent_id"`
	Name   string `json:"name"`
}

// thread says whether a room is a thread, of which Discord has three types.
func (r room) thread() bool { return r.Type >= 10 && r.Type <= 12 }

func (w *world) addRoom(r room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rooms == nil || len(w.rooms) >= maxKnown {
		w.rooms = map[string]room{}
	}
	w.rooms[r.ID] = r
}

func (w *world) room(id string) (room, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.rooms[id]
	return r, ok
}

func (w *world) addGuild(g *guild) {
	for _, r := range append(g.Channels, g.Threads...) {
		r.Guild = g.ID
		w.addRoom(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.guilds == nil {
		w.guilds = map[string]*guild{}
	}
	w.guilds[g.ID] = g
}

func (w *world) guild(id string) *guild {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.guilds[id]
}

// name remembers a member's name, and finds it where Discord leaves it out.
func (w *world) name(id, name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name == "" {
		if name = w.names[id]; name == "" {
			return id
		}
		return name
	}
	if w.names == nil || len(w.names) >= maxKnown {
		w.names = map[string]string{}
	}
	w.names[id] = name
	return name
}

// The rights that make a member an admin: Administrator and Manage Server.
const adminRights = 1<<3 | 1<<5

// role is a member's, by the ids of the member's roles.
func (g *guild) role(user string, roles []string) channel.Role {
	if user == g.Owner {
		return channel.RoleAdmin
	}
	has := map[string]bool{g.ID: true} // everybody's role has the server's id
	for _, id := range roles {
		has[id] = true
	}
	for _, r := range g.Roles {
		if rights, err := strconv.ParseUint(r.Rights, 10, 64); err == nil && has[r.ID] && rights&adminRights != 0 {
			return channel.RoleAdmin
		}
	}
	return channel.RoleMember
}

// mentioned says whether a bot's own role is among those that a text mentions: Discord
// offers it to members under the bot's name. g may be nil.
func (g *guild) mentioned(roles []string, bot string) bool {
	for i := 0; g != nil && i < len(g.Roles); i++ {
		if r := g.Roles[i]; r.Tags.Bot == bot && slices.Contains(roles, r.ID) {
			return true
		}
	}
	return false
}

// learn takes what an event says of servers and channels.
func (d *Discord) learn(kind string, data []byte) {
	switch kind {
	case "GUILD_CREATE", "GUILD_UPDATE":
		var g guild
		if json.Unmarshal(data, &g, lenient) == nil && isID(g.ID) {
			d.world.addGuild(&g)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var r room
		if json.Unmarshal(data, &r, lenient) == nil && isID(r.ID) {
			d.world.addRoom(r)
		}
	case "THREAD_LIST_SYNC":
		var all struct {
			Threads []room `json:"threads"`
		}
		if json.Unmarshal(data, &all, lenient) == nil {
			for _, r := range all.Threads {
				d.world.addRoom(r)
			}
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		var of struct {
			Guild string `json:"guild_id"`
		}
		if json.Unmarshal(data, &of, lenient) == nil { // it is asked for when it is needed
			d.world.mu.Lock()
			delete(d.world.guilds, of.Guild)
			d.world.mu.Unlock()
		}
	}
	switch kind {
	case "GUILD_CREATE", "CHANNEL_UPDATE", "GUILD_ROLE_UPDATE", "GUILD_MEMBER_UPDATE":
		d.forgive()
	}
}

// roomOf is a channel as Discord knows it, asked if it was not heard of yet. A
// channel that the bot cannot see is the zero room.
func (d *Discord) roomOf(ctx context.Context, id string) (room, error) {
	if r, ok := d.world.room(id); ok {
		return r, nil
	}
	var r room
	err := d.web.call(ctx, "GET", "channels/"+id, nil, &r)
	var e *channel.Error
	if errors.As(err, &e) && (e.Class == channel.Permanent || slices.Contains([]string{"discord_no_access", "discord_right_missing", "discord_forbidden"}, e.Code)) {
		r, err = room{}, nil
	}
	if err != nil {
		return room{}, err
	}
	known := r
	known.ID = id
	d.world.addRoom(known)
	return r, nil
}

// place is the group's chat in which a channel or a thread lies; ok is false if it is in
// none.
func (d *Discord) place(ctx context.Context, id string) (chat groups.JID, thread string, ok bool, err error) {
	if chat = chatOf(id); d.Serves(chat) {
		return chat, "", true, nil
	}
	r, err := d.roomOf(ctx, id)
	if err != nil || !r.thread() || !isID(r.Parent) {
		return "", "", false, err
	}
	chat = chatOf(r.Parent)
	return chat, id, d.Serves(chat), nil
}

// guildOf is the server of a chat, asked if it is not known; nil of a direct message.
func (d *Discord) guildOf(ctx context.Context, chat groups.JID) (*guild, error) {
	r, err := d.roomOf(ctx, idOf(chat))
	if err != nil || !isID(r.Guild) {
		return nil, err
	}
	if g := d.world.guild(r.Guild); g != nil {
		return g, nil
	}
	g := &guild{}
	if err := d.web.call(ctx, "GET", "guilds/"+r.Guild, nil, g); err != nil {
		return nil, err
	}
	d.world.addGuild(g)
	return g, nil
}

// RoleOf implements channel.Roles: admins are the server's owner and who has a role
// with Administrator or Manage Server. A direct message is the member's own chat.
func (d *Discord) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	if !isID(sender) {
		return channel.RoleUnknown, nil
	}
	g, err := d.guildOf(ctx, chat)
	if err == nil && g == nil {
		if r, _ := d.world.room(idOf(chat)); r.Type == typeDM {
			return channel.RoleAdmin, nil
		}
		return channel.RoleUnknown, nil
	}
	var m member
	if err == nil {
		err = d.web.call(ctx, "GET", "guilds/"+g.ID+"/members/"+sender, nil, &m)
	}
	if err != nil {
		if class := channel.ClassOf(err); class == channel.Permanent || class == channel.Held {
			return channel.RoleUnknown, nil
		}
		return channel.RoleUnknown, err
	}
	return g.role(sender, m.Roles), nil
}

// typeDM is the type of a direct message with one person.
const typeDM = 1
