//go:build e2e

package page

import (
	"context"
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

const flooded = `
channels: {web: {listen: "%LISTEN%"}}
assistants:
  echo: {agent: command, command: [cat]}
groups:
  - {name: Main, folder: main, chat: "web:main", main: true, assistant: echo, trigger: "@Andy"}
  - {name: Family, folder: family, chat: "web:family", assistant: echo, trigger: "@Andy"}
register: {chats: ["web:*"], most: 5}
limits: {rate: {per_minute: 60000, burst: 6000}}
`

// TestAGroupThatFloodsEachToolHasBoundedEffectsAndHoldsUpNobody: each request gets one
// result, what is kept is bounded, and the neighbour is served meanwhile.
func TestAGroupThatFloodsEachToolHasBoundedEffectsAndHoldsUpNobody(t *testing.T) {
	h := stage.NewChanging(t, flooded)
	ctx, cancel := context.WithTimeout(t.Context(), 2*stage.Patience)
	defer cancel()
	flood := ipc.NewClient(h.Layout.IPC("main", ""))
	sent := stage.AskHost(t, h.Layout, "main", ipc.Request{Type: ipc.TypeMessage, Text: "hello"})
	kinds := map[string]func(i int) ipc.Request{
		"react": func(int) ipc.Request { return ipc.Request{Type: ipc.TypeReact, Target: sent.MessageID, Emoji: "👍"} },
		"edit": func(i int) ipc.Request {
			return ipc.Request{Type: ipc.TypeEdit, Target: sent.MessageID, Text: fmt.Sprint("step ", i)}
		},
		"unsend": func(int) ipc.Request { return ipc.Request{Type: ipc.TypeUnsend, Target: "nothing"} },
		"ask": func(i int) ipc.Request {
			return ipc.Request{Type: ipc.TypeAsk, Text: fmt.Sprint("question ", i), Choices: []string{"a", "b"}}
		},
		"schedule": func(i int) ipc.Request {
			return ipc.Request{Type: ipc.TypeScheduleTask, Prompt: fmt.Sprint("task ", i), ScheduleType: "cron", ScheduleValue: "0 9 1 1 *"}
		},
		"tasks":  func(int) ipc.Request { return ipc.Request{Type: ipc.TypeListTasks} },
		"cancel": func(i int) ipc.Request { return ipc.Request{Type: ipc.TypeCancelTask, TaskID: fmt.Sprint("t-", i)} },
		"register": func(i int) ipc.Request {
			return ipc.Request{Type: ipc.TypeRegisterGroup, JID: fmt.Sprint("web:g", i), Name: fmt.Sprint("g", i)}
		},
		"messages": func(int) ipc.Request { return ipc.Request{Type: ipc.TypeListMessages, Limit: 100} },
		"fetch":    func(int) ipc.Request { return ipc.Request{Type: ipc.TypeFetchFile, Target: "nothing"} },
	}
	ids := map[string][]string{}
	for i := range 60 {
		for kind, request := range kinds {
			id, err := flood.Enqueue(ctx, request(i))
			if err != nil {
				t.Fatal(err)
			}
			ids[kind] = append(ids[kind], id)
		}
		if i == 30 {
			if got := stage.AskHost(t, h.Layout, "family", ipc.Request{Type: ipc.TypeMessage, Text: "still here"}); got.Status != ipc.Sent {
				t.Errorf("the neighbour's message: %+v", got)
			}
		}
	}
	done := map[string]int{}
	for kind, all := range ids {
		for _, id := range all {
			got, err := flood.Wait(ctx, id, nil)
			if err != nil || !got.Status.Final() {
				t.Fatalf("%s: %+v, %v", kind, got, err)
			}
			if len(got.Data) > ipc.MaxData {
				t.Errorf("%s: an answer of %d bytes", kind, len(got.Data))
			}
			if got.Status == ipc.Done || got.Status == ipc.Sent {
				done[kind]++
			}
		}
	}
	for kind, most := range map[string]int{"ask": 10, "schedule": 50, "register": 3, "cancel": 0, "unsend": 0, "fetch": 0} {
		if done[kind] > most || most > 0 && done[kind] == 0 {
			t.Errorf("%s: %d of 60 were done, and %d may be", kind, done[kind], most)
		}
	}
	if done["tasks"] != 60 || done["messages"] != 60 || done["edit"] != 60 {
		t.Errorf("done: %v", done)
	}
	status, err := operator.NewClient(operator.ControlDir(h.Layout)).Status(ctx)
	if err != nil || len(status.Groups) != 5 {
		t.Errorf("%d groups, %v", len(status.Groups), err)
	}
}
