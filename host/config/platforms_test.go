package config_test

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/config"
)

// platforms are those of the program.
func platforms() []channel.Platform {
	return []channel.Platform{web.Platform(), whatsapp.Platform(whatsapp.Net{}), push.Platform(), slack.Platform(slack.Net{}), telegram.Platform(), discord.Platform(discord.Net{})}
}

// webOf are the settings of the page; nil where it is off.
func webOf(cfg *config.Config) *web.Settings {
	page, ok := cfg.Channels.Named("web")
	if !ok {
		return nil
	}
	return page.Settings.(*web.Settings)
}
