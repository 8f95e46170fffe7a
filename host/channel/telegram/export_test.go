package telegram

import (
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Hurry shortens the pause before a connection.
func Hurry(ch channel.Channel, pause time.Duration) { ch.(*Telegram).Link.Pause = pause }

// Refusals are the words of refusals.
var Refusals = refusals
