package channel

import "github.com/longshore-bridge/longshore/groups"

// For finds the channel that carries a group's chat: the one that the group
// names, or else the one that owns the chat by its form. It is nil if there is
// none.
func For(channels []Channel, g groups.Group) Channel {
	for _, c := range channels {
		if g.Channel == c.Name() || g.Channel == "" && c.Owns(g.Chat) {
			return c
		}
	}
	return nil
}
