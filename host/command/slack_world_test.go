package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/ipc"
)

// slackEnv makes this test binary the longshore program whose Slack has the
// address that it holds. The released program has no such switch.
const slackEnv = "LONGSHORE_TEST_SLACK"

func mainOnSlack(run mainFunc, api string) int {
	return run("", platformsOver(whatsapp.Net{}, slack.Net{API: api}), os.Args[1:])
}

// quay is a Slack workspace, and a directory with a host for one of its chats. The
// host has no other channel.
type quay struct {
	*berth
	srv  *slacktest.Server
	chat string
}

// newQuay has something in the group's entry, such as its assistant.
func newQuay(t testing.TB, srv *slacktest.Server, chat, assistants, group string) *quay {
	t.Helper()
	text := fmt.Sprintf("channels: {slack: {bot_token_file: bot, app_token_file: app, rate: {per_minute: 60000, burst: 1000}}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Quay, folder: quay, chat: \"slack:%s\"%s}\n", assistants, chat, group)
	return &quay{newBerth(t, "quay", text, map[string]string{"bot": srv.BotToken, "app": srv.AppToken}, slackEnv+"="+srv.URL()), srv, chat}
}

// serve starts a host and waits until it is connected.
func (q *quay) serve() *berthHost {
	q.t.Helper()
	h := q.start()
	q.srv.Wait(q.t, "the host's connection", func() bool { return q.srv.Connections() > 0 })
	return h
}

// notes are those of all files of a result, and of its text.
func notes(r ipc.Result) string {
	var all []string
	for _, p := range r.Parts {
		all = append(all, p.Note)
	}
	return strings.Join(all, "\n")
}
