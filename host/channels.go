package main

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

// platforms are the chat platforms that this program has. The first is on
// where longshore.yaml names none.
func platforms() []channel.Platform {
	return []channel.Platform{
		web.Platform(),
		whatsapp.Platform(whatsapp.Net{}),
		push.Platform(),
		slack.Platform(slack.Net{}),
		discord.Platform(discord.Net{}),
		telegram.Platform(),
	}
}
