package bots

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
)

// dock is a Bot API server, and a directory with a host for one chat of its bot. The
// host has no other channel.
type dock struct {
	*stage.Berth
	srv *telegramtest.Server
}

// newDock has something in the channel's settings and in the group's entry.
func newDock(t testing.TB, srv *telegramtest.Server, settings, assistants, group string) *dock {
	t.Helper()
	text := fmt.Sprintf("channels: {telegram: {token_file: bot, server: %q, rate: {per_minute: 60000, burst: 1000}%s}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Dock, folder: dock, chat: \"tg:%d\"%s}\n", srv.URL, settings, assistants, stage.DockChat, group)
	return &dock{stage.NewBerth(t, "dock", text, map[string]string{"bot": telegramtest.Token}, stage.ServeEnv+"=1"), srv}
}
