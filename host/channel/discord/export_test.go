package discord

import (
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Hurry shortens the pauses before a connection, before a new session, and between two
// drawings of a question.
func Hurry(ch channel.Channel, pause time.Duration) {
	d := ch.(*Discord)
	d.Link.Pause, d.afresh, d.polls.Every = pause, pause, pause
}

// FileAt is the address of a file, or of a sticker of which address is the path.
func FileAt(ch channel.Channel, address string) string { return ch.(*Discord).api.at(address) }

// Known are the numbers of errors.
var Known = known
