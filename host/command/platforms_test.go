package command

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

// platforms are those of the mainFunc.
func allPlatforms() []channel.Platform { return platformsOver(whatsapp.Net{}, slack.Net{}) }

// platformsOver are those of the mainFunc, with WhatsApp and Slack elsewhere.
func platformsOver(wa whatsapp.Net, sl slack.Net) []channel.Platform {
	return []channel.Platform{web.Platform(), whatsapp.Platform(wa), push.Platform(), slack.Platform(sl), discord.Platform(discord.Net{}), telegram.Platform()}
}

// mainFunc is longshore's main function: version, platforms, arguments; it returns the exit code.
type mainFunc = func(version string, platforms []channel.Platform, args []string) int
