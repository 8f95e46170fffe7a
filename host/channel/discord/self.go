package discord

import (
	"context"
	"errors"
	"fmt"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
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

// The flags of an application that has an intent: verified, or on fewer than 100 servers.
const (
	flagMembers = 1<<14 | 1<<15
	flagContent = 1<<18 | 1<<19
)

// self is the bot that the token belongs to.
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

// settingsOf is the page on which the intents of an application are switched on.
func settingsOf(application string) string {
	return "https://discord.com/developers/applications/" + application + "/bot"
}

// Unpaired implements bot.Paired.
func (d *Discord) Unpaired() *link.Stop { return d.NotPaired(d.api.token != "") }

// Me implements bot.Paired.
func (d *Discord) Me(ctx context.Context) (string, error) {
	me, err := d.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("the bot's token: %w", bot.ForCommand(err, "discord.com"))
	}
	d.self.Store(me)
	return me.name, nil
}

// ask asks Discord who the token belongs to, and what its application may hear.
func (d *Discord) ask(ctx context.Context) (*self, error) {
	var me user
	var app struct {
		ID    string `json:"id"`
		Flags int    `json:"flags"`
	}
	err := d.api.Ask(ctx, "GET", "users/@me", nil, &me)
	if err == nil {
		err = d.api.Ask(ctx, "GET", "applications/@me", nil, &app)
	}
	if err == nil && (!isID(me.ID) || !isID(app.ID)) { // each message would be taken for one to it
		err = link.Lost(platformName, errors.New("it does not say who the bot is"))
	}
	if err != nil {
		return nil, err
	}
	return &self{id: me.ID, app: app.ID, name: channel.CleanName(me.Username), flags: app.Flags}, nil
}
