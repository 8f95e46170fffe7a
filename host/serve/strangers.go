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

// maxStrangers is how many chats without a group are remembered. Anybody may take a bot
// into a chat; the one that is silent for the longest time gives its place.
const maxStrangers = 50

// strangers are the group chats that no group of longshore.yaml has, and in which somebody
// wrote to the account since the host's start. The zero value but for trigger has none.
type strangers struct {
	trigger func(channel, text string) bool // whether a text has the trigger of one of the channel's groups

	mu  sync.Mutex
	all map[knownAs]operator.UnknownChat
}

type knownAs struct{ channel, chat string }

func (s *strangers) hear(name string, k channel.UnknownChat) {
	if k.Text != "" && !s.trigger(name, k.Text) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[knownAs]operator.UnknownChat{}
	}
	id := knownAs{name, string(k.Chat)}
	one := s.all[id]
	one.Channel, one.Chat, one.Messages = id.channel, id.chat, one.Messages+1
	if k.Time.After(one.Last) {
		one.Last = k.Time
	}
	s.all[id] = one
	if len(s.all) > maxStrangers {
		oldest := slices.MinFunc(slices.Collect(maps.Values(s.all)), func(a, b operator.UnknownChat) int {
			return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Chat, b.Chat))
		})
		delete(s.all, knownAs{oldest.Channel, oldest.Chat})
	}
}

// list returns them, the one that wrote last first.
func (s *strangers) list() []operator.UnknownChat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.all), func(a, b operator.UnknownChat) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Chat, b.Chat))
	})
}

// forget forgets chats that have a group now.
func (s *strangers) forget(has func(channel, chat string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.all, func(id knownAs, _ operator.UnknownChat) bool { return has(id.channel, id.chat) })
}

// triggerIn says whether a text has the trigger of one of the channel's groups.
func (h *Host) triggerIn(channel, text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(h.Registry().All(), func(g groups.Group) bool {
		return g.Channel == channel && g.Trigger != "" && strings.Contains(text, strings.ToLower(g.Trigger))
	})
}

// UnknownChats are the chats that have no group at this moment.
func (h *Host) UnknownChats() []operator.UnknownChat {
	registry := h.Registry()
	h.door.strangers.forget(func(channel, chat string) bool {
		_, ok := registry.ByAddress(groups.Address{Channel: channel, JID: groups.JID(chat)})
		return ok
	})
	return h.door.strangers.list()
}
