package stage

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

// AllPlatforms are those of the program.
func AllPlatforms() []channel.Platform { return PlatformsOver(whatsapp.Net{}, slack.Net{}) }

// PlatformsOver are those of the program, with WhatsApp and Slack elsewhere.
func PlatformsOver(wa whatsapp.Net, sl slack.Net) []channel.Platform {
	return []channel.Platform{web.Platform(), whatsapp.Platform(wa), push.Platform(), slack.Platform(sl), discord.Platform(discord.Net{}), telegram.Platform()}
}
