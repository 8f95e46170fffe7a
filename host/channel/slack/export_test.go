package slack

import (
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Hurry shortens the pauses before a connection and between two drawings of a question.
func Hurry(ch channel.Channel, pause time.Duration) {
	s := ch.(*Slack)
	s.Link.Pause, s.polls.Every = pause, pause
}

// ShareWithin shortens how long a Send waits for the chat to have its files.
func ShareWithin(ch channel.Channel, wait time.Duration) { ch.(*Slack).forShare = wait }

// RecountAfter shortens how long a connection lasts if Slack has counted others.
func RecountAfter(ch channel.Channel, wait time.Duration) { ch.(*Slack).recount = wait }

// Refusals are the words of refusals.
var Refusals = refusals
