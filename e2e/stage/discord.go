package stage

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
)

// DiscordEnv makes this test binary the longshore program whose Discord has the
// address that it holds. The released program has no such switch.
const DiscordEnv = "LONGSHORE_TEST_DISCORD"

// Pier is a Discord server, and a directory with a host for one of its channels. The
// host has no other channel.
type Pier struct {
	*Berth
	Srv  *discordtest.Server
	Chat string
}

// NewPier has something in the channel's settings and in the group's entry.
func NewPier(t testing.TB, srv *discordtest.Server, settings, assistants, group string) *Pier {
	t.Helper()
	chat := srv.AddChannel("pier")
	text := fmt.Sprintf("channels: {discord: {bot_token_file: bot, rate: {per_minute: 60000, burst: 1000}%s}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Pier, folder: pier, chat: \"dc:%s\"%s}\n", settings, assistants, chat, group)
	return &Pier{NewBerth(t, "pier", text, map[string]string{"bot": srv.Token}, DiscordEnv+"="+srv.URL()), srv, chat}
}

// Serve starts a host and waits until it is connected.
func (p *Pier) Serve() *BerthHost {
	p.T.Helper()
	before := p.Srv.Calls("identify")
	h := p.Start()
	p.Srv.Wait(p.T, "the host's session", func() bool { return p.Srv.Calls("identify") > before })
	return h
}
