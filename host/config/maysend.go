package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/near"
	"github.com/longshore-bridge/longshore/media"
)

// maySend rejects a policy that would permit no file: it is rather a slip.
func (c *checker) maySend(key string, m groups.MaySend) {
	if m.Kinds != nil && len(m.Kinds) == 0 {
		c.bad(key+".kinds", "the list is empty", "name the kinds that may leave, or leave the key out")
	}
	if from, to, given := strings.Cut(string(m.Hours), "-"); given && from == to {
		c.bad(key+".hours", "the hours end where they begin", "write 00:00-24:00 for the whole day, or leave the key out")
	}
}

// approve rejects rules that ask for nothing: they are rather a slip.
func (c *checker) approve(key string, a groups.Approve) {
	if a.Kinds != nil && len(a.Kinds) == 0 {
		c.bad(key+".kinds", "the list is empty", "name the kinds that wait, or leave the key out")
	}
	if a.Within > 0 && !a.Files && len(a.Kinds) == 0 && a.Above == 0 && !a.First && !a.Foreign && len(c.cfg.Screen.Ask) == 0 {
		c.bad(key+".within", "no rule asks for an approval", "add one, such as foreign: true, or leave the key out")
	}
}

// maySendTo rejects a name that is no other group's folder and no destination, and a list that adds nothing.
func (c *checker) maySendTo() {
	names := map[string]bool{}
	for name := range c.cfg.Destinations {
		names[name] = true
	}
	for _, g := range c.cfg.Groups {
		names[g.Folder] = true
	}
	for i, g := range c.cfg.Groups {
		key := fmt.Sprintf("groups[%d].may_send_to", i)
		if len(g.MaySendTo) > 0 && g.Main {
			c.bad(key, "the main group may send to every chat", "leave the key out, or main: true")
		}
		for n, folder := range g.MaySendTo {
			if !names[folder] || folder == g.Folder {
				others := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return name == g.Folder })
				c.bad(fmt.Sprintf("%s[%d]", key, n), fmt.Sprintf("%q is no other group's folder and no destination", media.Cut(folder, 100)),
					near.Hint(folder, others, "name the folder of another group, or a chat below destinations:"))
			}
		}
	}
}

// destinations checks the chats without an assistant against those of the groups. A
// channel without an account, such as the chat page, has no other chats than groups'.
func (c *checker) destinations(chats map[groups.Address]int) {
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Destinations)) {
		d, key := c.cfg.Destinations[name], "destinations."+name
		same := func(g groups.Group) bool { return strings.EqualFold(g.Folder, name) }
		if slices.ContainsFunc(c.cfg.Groups, same) || groups.CheckFolder(name) != nil {
			c.bad(key, fmt.Sprintf("%q is a group's folder, or reserved", name), "choose another name for the destination")
		}
		if !c.chat(key, d.Chat) {
			continue
		}
		g := groups.Group{Chat: d.Chat, Channel: d.Channel}
		c.carrier(key, &g)
		d.Channel = g.Channel
		c.cfg.Destinations[name] = d
		one, ok := c.cfg.Channels.Named(d.Channel)
		if _, linked := one.Platform.(channel.Linker); ok && !linked {
			c.bad(key+".chat", d.Channel+" has the chats of groups only", "make a group of this chat, and name the group's folder in may_send_to")
		}
		if i, taken := chats[d.Address()]; taken {
			c.bad(key+".chat", fmt.Sprintf("%s is the chat of group %q", d.Chat, c.cfg.Groups[i].Folder), "name the group's folder in may_send_to, and leave this destination out")
		}
	}
}

// Registry returns what the configuration says of who may send where.
func (c *Config) Registry() (*groups.Registry, error) {
	r, err := groups.NewRegistry(c.Groups)
	if err != nil {
		return nil, err
	}
	return r.WithDestinations(c.Destinations)
}
