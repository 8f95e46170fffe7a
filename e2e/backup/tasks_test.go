package backup

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestATaskFromItsRequestToTheChat: an assistant schedules it, the operator runs it,
// and the answer is in the chat.
func TestATaskFromItsRequestToTheChat(t *testing.T) {
	m := memory.New(memory.Options{})
	h := stage.StartMemory(t, stage.Echo, m)
	file := h.Config().File
	got := stage.AskHost(t, h.Layout, "family", ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "water the plants", ScheduleType: "cron", ScheduleValue: "0 9 1 1 *", Name: "plants"})
	var answer tasks.Answer
	if err := json.Unmarshal(got.Data, &answer); err != nil || got.Status != ipc.Done || answer.Task == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if bad := stage.AskHost(t, h.Layout, "family", ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "x", ScheduleType: "cron", ScheduleValue: "soon"}); bad.Code != "invalid_schedule" || bad.Hint == "" {
		t.Errorf("%+v", bad)
	}
	stage.Await(t, "the control socket", func() bool {
		return operator.NewClient(operator.ControlDir(h.Layout)).Health(t.Context()) == nil
	})
	id := answer.Task.ID
	for _, tt := range []struct{ args, want string }{
		{"tasks list", id}, {"tasks list --group Family", "plants"}, {"tasks show " + id, "water the plants"}, {"tasks list --json", `"schedule_value": "0 9 1 1 *"`},
		{"tasks pause " + id, "Paused the task plants"}, {"tasks resume " + id, "Resumed the task plants"}, {"tasks run " + id, "Began a run"},
	} {
		out, errs, code := stage.RunLine(t, file, strings.Fields(tt.args)...)
		if code != stage.ExitOK || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %d, %q, %q", tt.args, code, out, errs)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	shown, err := m.WaitShown(ctx, "mem:family", 1)
	if err != nil || !strings.Contains(shown[0].Text, "[SCHEDULED TASK") || !strings.Contains(shown[0].Text, "water the plants") {
		t.Fatalf("%+v, %v", shown, err)
	}
	if out, _, code := stage.RunLine(t, file, "tasks", "cancel", id); code != stage.ExitOK || !strings.Contains(out, "Cancelled") {
		t.Errorf("%d, %q", code, out)
	}
	if _, errs, code := stage.RunLine(t, file, "tasks", "cancel", id); code == stage.ExitOK || !strings.Contains(errs, "no task has the id") {
		t.Errorf("%d, %q", code, errs)
	}
}
