//go:build e2e

package bots

import (
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
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
	for _, act := range slackActs {
		for when, fault := range map[string]func(func()) slacktest.Fault{"before": beforeIt, "after": afterIt} {
			t.Run(when+" "+act.method, func(t *testing.T) {
				t.Parallel()
				s := slacktest.New(t)
				chat := s.AddChannel(slacktest.Public, "harbour")
				q := stage.NewQuay(t, s, chat, "", "")
				host := q.Serve()
				sent := q.Ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: q.File("one.bin", []byte("bytes")), Caption: "half of it"}}})
				if r := q.Result(sent); r.Status != ipc.Sent {
					t.Fatalf("the result is %+v", r)
				}
				killed := make(chan struct{})
				s.Next(act.method, fault(func() {
					host.Kill()
					close(killed)
				}))
				act.request.Target = sent
				id := q.Ask(act.request)
				select {
				case <-killed:
				case <-stage.Soon(t).Done():
					t.Fatal("the host never got there")
				}
				again := q.Serve()
				if r := q.Result(id); r.Status != ipc.Sent {
					t.Errorf("the result is %+v", r)
				}
				if got := s.FromBot(chat); !act.holds(got) {
					t.Errorf("the chat has %+v", got)
				}
				again.Stop()
			})
		}
	}
}
