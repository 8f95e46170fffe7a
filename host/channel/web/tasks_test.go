package web_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// taskBook has one task, in the family's chat.
type taskBook struct{ did string }

func (b *taskBook) Tasks(_ context.Context, chat groups.JID) ([]channel.Task, error) {
	if chat != "web:family" {
		return nil, errors.New("a path of the host: /etc/shadow")
	}
	return []channel.Task{{ID: "t-1", Name: "plants", Words: "next: tomorrow"}}, nil
}

func (b *taskBook) Operate(_ context.Context, chat groups.JID, id, verb string) (string, error) {
	switch {
	case chat != "web:family" || id != "t-1":
		return "", &refusal.Error{Code: "unknown_task", Message: "the chat has no such task"}
	case verb == "run":
		return "", &refusal.Error{Code: "task_running", Message: "the task is running", Hint: "wait"}
	}
	b.did += verb + " "
	return "Done.", nil
}

func TestTasksAreOperatedInTheirChatOnly(t *testing.T) {
	opts := options(t.TempDir())
	book := &taskBook{}
	opts.Tasks = book
	s := start(t, opts)
	if res, body := s.do("GET", "/api/chats/family/tasks", nil); res.StatusCode != 200 || !strings.Contains(string(body), `"name":"plants"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for _, tt := range []struct {
		path, body string
		status     int
		words      string
	}{
		{"family/tasks/t-1", `{"do": "pause"}`, 200, "Done."},
		{"family/tasks/t-1", `{"do": "run"}`, 409, "the task is running"},
		{"family/tasks/t-1", `{"do": "edit"}`, 400, "use pause"},
		{"family/tasks/t-1", `{"do": "pause", "to": "x"}`, 400, "bad_json"},
		{"family/tasks/t-2", `{"do": "pause"}`, 404, "unknown_task"},
		{"family/tasks/..%2ft-1", `{"do": "pause"}`, 404, "unknown_task"},
		{"nobody/tasks/t-1", `{"do": "pause"}`, 404, "unknown_chat"},
	} {
		res, body := s.do("POST", "/api/chats/"+tt.path, strings.NewReader(tt.body), "Content-Type", "application/json")
		if res.StatusCode != tt.status || !strings.Contains(string(body), tt.words) || strings.Contains(string(body), "/etc") {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, res.StatusCode, body)
		}
	}
	if book.did != "pause " {
		t.Errorf("done: %q", book.did)
	}
}
