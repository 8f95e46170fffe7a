// Package discord is the channel to Discord: a bot of the operator's own, which receives events
// by the gateway and sends by the HTTP API.
//
// The journal has events until the host has them, what was sent, and until when the gateway
// was heard.
//
// Discord knows a message's nonce for a few minutes. After that, Find looks for the
// message in the chat, among those of the bot that the journal does not know as others.
//
// An event is acknowledged only once it is durable, so a resumed session repeats the others. A
// new session asks each chat for the messages since the last session.
package discord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
)

var (
	_ bot.Account    = (*Discord)(nil)
	_ channel.Finder = (*Discord)(nil)
	_ channel.Lister = (*Discord)(nil)
	_ channel.Linker = platform{}
	_ bot.Paired     = (*Discord)(nil)
)

// Discord is the channel. New of its Platform makes one.
type Discord struct {
	*bot.Bot
	settings  *Settings
	api       *api
	directory directory
	polls     *bot.Polls
	gateway   *gateway             // Connect's alone
	answers   chan reply           // to interactions
	afresh    time.Duration        // a session that Discord does not know is begun anew after one to five times as long
	self      atomic.Pointer[self] // once Discord has said who the bot is
}

// New makes the channel of a configuration, and opens nothing.
func (p platform) New(s channel.Setup) (channel.Channel, error) { return p.newOf(s) }

func (p platform) newOf(s channel.Setup) (*Discord, error) {
	set := s.Settings.(*Settings)
	b := bot.New(s, p.Kind, time.Hour)
	a, err := newAPI(set, p.net, b.Host)
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", s.Name, err)
	}
	return &Discord{Bot: b, settings: set, api: a, polls: bot.NewPolls(), answers: make(chan reply, maxAnswers), afresh: time.Second}, nil
}

// Apply implements channel.Applier. Rights may have changed, too.
func (d *Discord) Apply(to channel.Setup) {
	d.Bot.Apply(to)
	d.Barred.Clear()
}

// Owns reports whether chat has the form of a channel or a direct message.
func (d *Discord) Owns(chat groups.JID) bool { return owns(chat) }

// Repeat returns how long a nonce counts: "the past few minutes", says Create Message in
// Discord's documentation. Two are believed.
func (d *Discord) Repeat() channel.Repeat { return channel.Repeat{Keyed: 2 * time.Minute} }

// Run receives events until ctx is done. While the token is missing or refused, or another process
// has the store, it waits, and Send returns a Held error.
func (d *Discord) Run(ctx context.Context, in channel.Inbox) error {
	defer d.Close()
	return d.Bot.Run(ctx, in, d)
}

// Connect implements bot.Hooks: it is one connection to the gateway.
func (d *Discord) Connect(ctx context.Context, o *bot.Open, up func(string)) error {
	if d.gateway == nil || d.gateway.open != o { // a session lasts over connections, not over stores
		d.gateway = &gateway{Discord: d, open: o}
	}
	return d.gateway.connect(ctx, up)
}

// Beside implements bot.Hooks: it answers interactions and draws votes.
func (d *Discord) Beside(ctx context.Context, o *bot.Open) {
	var answering sync.WaitGroup
	defer answering.Wait()
	answering.Go(func() { d.sayAnswers(ctx) })
	d.redraw(ctx, o)
}

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
