package command

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
)

// The chats of a dock: the group's, and the depot.
const (
	dockChat  = -1001
	dockDepot = -1002
)

// dock is a Bot API server, and a directory with a host for one chat of its bot. The
// host has no other channel.
type dock struct {
	*berth
	srv *telegramtest.Server
}

// newDock has something in the channel's settings and in the group's entry.
func newDock(t testing.TB, srv *telegramtest.Server, settings, assistants, group string) *dock {
	t.Helper()
	text := fmt.Sprintf("channels: {telegram: {token_file: bot, server: %q, rate: {per_minute: 60000, burst: 1000}%s}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Dock, folder: dock, chat: \"tg:%d\"%s}\n", srv.URL, settings, assistants, dockChat, group)
	return &dock{newBerth(t, "dock", text, map[string]string{"bot": telegramtest.Token}, serveEnv+"=1"), srv}
}
