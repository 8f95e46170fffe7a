package nanoclaw_test

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

// platforms are those of the program.
func platforms() []channel.Platform {
	return []channel.Platform{web.Platform(), whatsapp.Platform(whatsapp.Net{}), telegram.Platform(), slack.Platform(slack.Net{})}
}
