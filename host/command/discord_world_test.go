package command

import (
	"fmt"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
)

// discordEnv makes this test binary the longshore program whose Discord has the
// address that it holds. The released program has no such switch.
const discordEnv = "LONGSHORE_TEST_DISCORD"

func mainOnDiscord(run mainFunc, api string) int {
	return run("", []channel.Platform{discord.Platform(discord.Net{API: api})}, os.Args[1:])
}

// pier is a Discord server, and a directory with a host for one of its channels. The
// host has no other channel.
type pier struct {
	*berth
	srv  *discordtest.Server
	chat string
}

// newPier has something in the channel's settings and in the group's entry.
func newPier(t testing.TB, srv *discordtest.Server, settings, assistants, group string) *pier {
	t.Helper()
	chat := srv.AddChannel("pier")
	text := fmt.Sprintf("channels: {discord: {bot_token_file: bot, rate: {per_minute: 60000, burst: 1000}%s}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Pier, folder: pier, chat: \"dc:%s\"%s}\n", settings, assistants, chat, group)
	return &pier{newBerth(t, "pier", text, map[string]string{"bot": srv.Token}, discordEnv+"="+srv.URL()), srv, chat}
}

// serve starts a host and waits until it is connected.
func (p *pier) serve() *berthHost {
	p.t.Helper()
	before := p.srv.Calls("identify")
	h := p.start()
	p.srv.Wait(p.t, "the host's session", func() bool { return p.srv.Calls("identify") > before })
	return h
}
