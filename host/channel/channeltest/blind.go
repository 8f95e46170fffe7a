package channeltest

import "github.com/longshore-bridge/longshore/host/channel"

// Blind reports whether a channel has neither a key nor a Finder. If the answer to its Send is
// lost, nobody can say whether the chat has the message, and a second Send may show it twice:
// the message is uncertain at once.
func Blind(c channel.Channel) bool {
	_, finds := c.(channel.Finder)
	return !finds && !c.Repeat().Knows(0)
}
