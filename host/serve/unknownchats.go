package serve

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
)

// maxUnknownChats bounds the chats without a group that are remembered, because anybody may add a bot
// to a chat. Beyond it, the chat that has been silent for longest is forgotten.
const maxUnknownChats = 50

// unknownChats are the group chats without a group in longshore.yaml in which somebody has written since
// the host's start. The zero value has none.
type unknownChats struct {
	mu  sync.Mutex
	all map[groups.Address]operator.UnknownChat
}

// add counts a message of a chat.
func (u *unknownChats) add(name string, k channel.UnknownChat) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[groups.Address]operator.UnknownChat{}
	}
	at := groups.Address{Channel: name, JID: k.Chat}
	one := u.all[at]
	one.Channel, one.Chat, one.Messages = name, string(k.Chat), one.Messages+1
	if k.Time.After(one.Last) {
		one.Last = k.Time
	}
	u.all[at] = one
	if len(u.all) > maxUnknownChats {
		oldest := slices.MinFunc(slices.Collect(maps.Values(u.all)), func(a, b operator.UnknownChat) int {
			return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Chat, b.Chat))
		})
		delete(u.all, groups.Address{Channel: oldest.Channel, JID: groups.JID(oldest.Chat)})
	}
}

// list returns the chats that have no group in registry, the one with the newest message first. It
// forgets the others.
func (u *unknownChats) list(registry *groups.Registry) []operator.UnknownChat {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.all, func(at groups.Address, _ operator.UnknownChat) bool {
		_, ok := registry.ByAddress(at)
		return ok
	})
	return slices.SortedFunc(maps.Values(u.all), func(a, b operator.UnknownChat) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Chat, b.Chat))
	})
}

// triggered reports whether a text has the trigger of one of the channel's groups.
func triggered(registry *groups.Registry, channel, text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(registry.All(), func(g groups.Group) bool {
		return g.Channel == channel && g.Trigger != "" && strings.Contains(text, strings.ToLower(g.Trigger))
	})
}

// UnknownChats returns the group chats that have no group now.
func (h *Host) UnknownChats() []operator.UnknownChat { return h.pairing.unknown.list(h.Registry()) }
