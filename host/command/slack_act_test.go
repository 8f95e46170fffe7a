package command

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

// slackActs are the changes of a message with a file, and what a member sees after.
var slackActs = []struct {
	method  string
	request ipc.Request
	holds   func(m []slacktest.Message) bool
}{
	{"chat.update", ipc.Request{Type: ipc.TypeEdit, Text: "*all* of it"}, func(m []slacktest.Message) bool {
		return len(m) == 1 && m[0].Text == "_all_ of it" && len(m[0].Files) == 1
	}},
	{"reactions.add", ipc.Request{Type: ipc.TypeReact, Emoji: "👍🏽"}, func(m []slacktest.Message) bool {
		return len(m) == 1 && len(m[0].Reactions) == 1 && len(m[0].Reactions["+1::skin-tone-4"]) == 1
	}},
	{"files.delete", ipc.Request{Type: ipc.TypeUnsend}, func(m []slacktest.Message) bool { return len(m) == 0 }},
	{"chat.delete", ipc.Request{Type: ipc.TypeUnsend}, func(m []slacktest.Message) bool { return len(m) == 0 }},
}

// A host that is killed around a change makes it again, and it shows once.
func TestKilledAroundAChangeSlackShowsItOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 16 hosts")
	}
	for _, act := range slackActs {
		for when, fault := range map[string]func(func()) slacktest.Fault{"before": beforeIt, "after": afterIt} {
			t.Run(when+" "+act.method, func(t *testing.T) {
				t.Parallel()
				s := slacktest.New(t)
				chat := s.AddChannel(slacktest.Public, "harbour")
				q := newQuay(t, s, chat, "", "")
				host := q.serve()
				sent := q.ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: q.file("one.bin", []byte("bytes")), Caption: "half of it"}}})
				if r := q.result(sent); r.Status != ipc.Sent {
					t.Fatalf("the result is %+v", r)
				}
				killed := make(chan struct{})
				s.Next(act.method, fault(func() {
					host.kill()
					close(killed)
				}))
				act.request.Target = sent
				id := q.ask(act.request)
				select {
				case <-killed:
				case <-soon(t).Done():
					t.Fatal("the host never got there")
				}
				again := q.serve()
				if r := q.result(id); r.Status != ipc.Sent {
					t.Errorf("the result is %+v", r)
				}
				if got := s.FromBot(chat); !act.holds(got) {
					t.Errorf("the chat has %+v", got)
				}
				again.stop()
			})
		}
	}
}

// What Slack does not allow is said to the assistant, and holds up nothing.
func TestAChangeThatSlackRefusesIsSaidToTheAssistant(t *testing.T) {
	s := slacktest.New(t)
	chat := s.AddChannel(slacktest.Public, "harbour")
	q := newQuay(t, s, chat, "", "")
	host := q.serve()
	sent := q.result(q.ask(ipc.Request{Type: ipc.TypeMessage, Text: "words"})).MessageID
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
		if r := q.result(q.ask(tt.r)); r.Status == ipc.Sent || !strings.Contains(r.Code+codes(r), tt.code) {
			t.Errorf("%s: the result is %+v", tt.code, r)
		}
	}
	if r := q.result(q.ask(ipc.Request{Type: ipc.TypeMessage, Text: "more words"})); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	host.stop()
}

// codes are those of a result's parts.
func codes(r ipc.Result) (all string) {
	for _, p := range r.Parts {
		all += " " + p.Code
	}
	return all
}
