package bots

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

// What Slack does not allow is said to the assistant, and holds up nothing.
func TestAChangeThatSlackRefusesIsSaidToTheAssistant(t *testing.T) {
	s := slacktest.New(t)
	chat := s.AddChannel(slacktest.Public, "harbour")
	q := stage.NewQuay(t, s, chat, "", "")
	host := q.Serve()
	sent := q.Result(q.Ask(ipc.Request{Type: ipc.TypeMessage, Text: "words"})).MessageID
	s.Next("chat.update", slacktest.Fault{Error: "edit_window_closed"})
	s.SetScopes(slacktest.Without("reactions:write")...)
	for _, tt := range []struct {
		r    ipc.Request
		code string
	}{
		{ipc.Request{Type: ipc.TypeEdit, Target: sent, Text: "others"}, "too_late"},
		{ipc.Request{Type: ipc.TypeReact, Target: sent, Emoji: "👍"}, "slack_scope_missing"},
		{ipc.Request{Type: ipc.TypeReact, Target: s.Post(chat, s.AddUser("Anna"), "hers"), Emoji: "🫪"}, "unknown_emoji"},
	} {
		if r := q.Result(q.Ask(tt.r)); r.Status == ipc.Sent || !strings.Contains(r.Code+codes(r), tt.code) {
			t.Errorf("%s: the result is %+v", tt.code, r)
		}
	}
	if r := q.Result(q.Ask(ipc.Request{Type: ipc.TypeMessage, Text: "more words"})); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	host.Stop()
}

// codes are those of a result's parts.
func codes(r ipc.Result) (all string) {
	for _, p := range r.Parts {
		all += " " + p.Code
	}
	return all
}
