package discord

import (
	"context"
	"errors"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
)

// The intents. Discord gives members and the content of messages only to a bot whose
// application has these switched on.
const (
	intentGuilds         = 1 << 0
	intentMembers        = 1 << 1
	intentMessages       = 1 << 9
	intentReactions      = 1 << 10
	intentDirect         = 1 << 12
	intentDirectReaction = 1 << 13
	intentContent        = 1 << 15
)

// The flags of an application that has an intent, on any number of servers and on
// less than 100.
const (
	flagMembers = 1<<14 | 1<<15
	flagContent = 1<<18 | 1<<19
)

// self is who the token makes the channel.
type self struct {
	id, app string
	name    string // foreign
	flags   int    // of the application
}

func (me *self) intents() int {
	all := intentGuilds | intentMessages | intentReactions | intentDirect | intentDirectReaction
	if me.flags&flagMembers != 0 {
		all |= intentMembers
	}
	if me.flags&flagContent != 0 {
		all |= intentContent
	}
	return all
}

// notPaired is the stop without a token.
func (d *Discord) notPaired() *link.Stop {
	command := "longshore pair discord"
	if d.Name() != platformKey {
		command += " " + d.Name()
	}
	return &link.Stop{Code: "discord_not_paired", Message: "the channel has no token of a Discord bot",
		Hint: command + " says how to get it; then restart the host"}
}

// ask asks Discord who the token belongs to, and what its application may hear.
func (d *Discord) ask(ctx context.Context) (*self, error) {
	var me user
	var app struct {
		ID    string `json:"id"`
		Flags int    `json:"flags"`
	}
	if err := d.api.call(ctx, "GET", "users/@me", nil, &me); err != nil {
		return nil, err
	}
	if err := d.api.call(ctx, "GET", "applications/@me", nil, &app); err != nil {
		return nil, err
	}
	if !isID(me.ID) || !isID(app.ID) { // each message would be taken for one to it
		return nil, link.Lost("Discord", errors.New("it does not say who the bot is"))
	}
	return &self{id: me.ID, app: app.ID, name: channel.CleanName(me.Username), flags: app.Flags}, nil
}
