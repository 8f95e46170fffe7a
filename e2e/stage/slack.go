package stage

import (
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

// FilesOf counts the files of messages.
func FilesOf(messages []slacktest.Message) (n int) {
	for _, m := range messages {
		n += len(m.Files)
	}
	return n
}

// SlackEnv makes this test binary the longshore program whose Slack has the
// address that it holds. The released program has no such switch.
const SlackEnv = "LONGSHORE_TEST_SLACK"

// Quay is a Slack workspace, and a directory with a host for one of its chats. The
// host has no other channel.
type Quay struct {
	*Berth
	Srv  *slacktest.Server
	chat string
}

// NewQuay has something in the group's entry, such as its assistant.
func NewQuay(t testing.TB, srv *slacktest.Server, chat, assistants, group string) *Quay {
	t.Helper()
	text := fmt.Sprintf("channels: {slack: {bot_token_file: bot, app_token_file: app, rate: {per_minute: 60000, burst: 1000}}}\n"+
		"assistants: {%s}\nlimits: {free_disk: 1MB, rate: {per_minute: 60000, burst: 1000}}\n"+
		"groups:\n  - {name: Quay, folder: quay, chat: \"slack:%s\"%s}\n", assistants, chat, group)
	return &Quay{NewBerth(t, "quay", text, map[string]string{"bot": srv.BotToken, "app": srv.AppToken}, SlackEnv+"="+srv.URL()), srv, chat}
}

// Serve starts a host and waits until it is connected.
func (q *Quay) Serve() *BerthHost {
	q.T.Helper()
	h := q.Start()
	q.Srv.Wait(q.T, "the host's connection", func() bool { return q.Srv.Connections() > 0 })
	return h
}
