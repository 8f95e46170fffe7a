package stage

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// AllPlatforms are those of the program.
func AllPlatforms() []channel.Platform { return platformsAt("", "", "") }

// platformsAt are those of a program whose WhatsApp, Slack and Discord have these addresses; empty: the real ones.
func platformsAt(wa, sl, dc string) []channel.Platform {
	var net whatsapp.Net
	if wa != "" {
		if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
			panic(err)
		}
		net.Network = whatsapptest.NewNetwork(wa)
	}
	return PlatformsOver(net, slack.Net{API: sl}, discord.Net{API: dc})
}

// PlatformsOver are those of the program, with WhatsApp, Slack and Discord elsewhere.
func PlatformsOver(wa whatsapp.Net, sl slack.Net, dc discord.Net) []channel.Platform {
	return []channel.Platform{web.Platform(), whatsapp.Platform(wa), push.Platform(), slack.Platform(sl), discord.Platform(dc), telegram.Platform()}
}
