package bots

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

// answered is what a question's result counts.
func answered(q *stage.Quay, id string) map[string]int {
	q.T.Helper()
	var data struct{ Counts map[string]int }
	if r := q.Result(id); json.Unmarshal(r.Data, &data) != nil {
		return nil
	}
	return data.Counts
}

// A host is killed while it posts a question, and while members answer it. It is
// asked once, and each member's latest choice counts.
func TestAQuestionOnSlackSurvivesTheHost(t *testing.T) {
	for when, fault := range map[string]func(func()) slacktest.Fault{"before": beforeIt, "after": afterIt} {
		t.Run(when+" it is posted", func(t *testing.T) {
			t.Parallel()
			s := slacktest.New(t)
			chat, anna, bo := s.AddChannel(slacktest.Public, "harbour"), s.AddUser("Anna"), s.AddUser("Bo")
			q := stage.NewQuay(t, s, chat, sampleAssistant, ", assistant: sample, trigger: \"@Andy\"")
			host, killed := q.Serve(), make(chan struct{})
			s.Next("chat.postMessage", fault(func() {
				host.Kill()
				close(killed)
			}))
			id := q.Ask(ipc.Request{Type: ipc.TypeAsk, Text: "Which *day*, <!channel>?", Choices: []string{"Monday", "Friday"}})
			select {
			case <-killed:
			case <-stage.Soon(t).Done():
				t.Fatal("the host never got there")
			}
			host = q.Serve()
			if r := q.Result(id); r.Status != ipc.Sent {
				t.Fatalf("the result is %+v", r)
			}
			asked := s.FromBot(chat)
			if len(asked) != 1 || !slices.Equal(asked[0].Buttons(), []string{"Monday", "Friday"}) {
				t.Fatalf("the chat has %+v", asked)
			}
			ts := asked[0].TS
			counts := func(want map[string]int) {
				t.Helper()
				stage.Await(t, "the answers", func() bool { return cmp.Equal(want, answered(q, id)) })
			}
			s.Press(chat, anna, ts, "Monday")
			counts(map[string]int{"Monday": 1, "Friday": 0})
			host.Kill()
			s.Press(chat, anna, ts, "Friday")
			s.Press(chat, bo, ts, "Friday")
			again := q.Serve()
			counts(map[string]int{"Monday": 0, "Friday": 2})
			s.Press(chat, bo, ts, "Friday") // takes it back
			counts(map[string]int{"Monday": 0, "Friday": 1})
			s.Wait(t, "the members' view", func() bool {
				return s.FromBot(chat)[0].Shown() == "Which day, <!channel>?\nMonday: 0\nFriday: 1 (Anna)"
			})
			again.Stop()
		})
	}
}
