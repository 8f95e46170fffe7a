package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/ipc"
)

// answers answers calls with what do returns, and notes them.
type answers struct {
	do   func(bridge.Call) (any, error)
	seen []bridge.Call
}

func (a *answers) Answer(_ context.Context, c bridge.Call) (any, error) {
	a.seen = append(a.seen, c)
	return a.do(c)
}

var (
	listTasks = ipc.Request{Type: ipc.TypeListTasks}
	mod       = time.Unix(1_800_000_000, 0)
)

func TestACallIsAnsweredWithoutTheChat(t *testing.T) {
	s := newSite(t)
	a := &answers{do: func(bridge.Call) (any, error) { return map[string]string{"words": "no tasks"}, nil }}
	s.Bridge.Answers = a
	s.turns.threads = map[string]string{"work/t1": "thread-7"}
	call := listTasks
	call.Turn = "t1"
	s.asked++
	s.enqueue("work", "one", call, mod)
	s.carry("work")
	r, ok := s.spool.Result("work", "one")
	var compact = strings.Join(strings.Fields(string(r.Data)), "")
	if !ok || r.Status != ipc.Done || compact != `{"words":"notasks"}` {
		t.Errorf("%+v %s", r, r.Data)
	}
	if len(a.seen) != 1 || a.seen[0].From.Folder() != "work" || a.seen[0].Thread != "thread-7" || a.seen[0].Chat.JID != "mem:work" || a.seen[0].Key == "" {
		t.Errorf("asked with %+v", a.seen)
	}
	if n := len(s.memory.Shown("mem:work")); n != 0 {
		t.Errorf("the chat has %d messages", n)
	}
}

// A host that dies between the answer and the unlink meets the call again: the key
// tells the answerer that it is the same one.
func TestACallThatIsMetAgainHasTheSameKey(t *testing.T) {
	s := newSite(t)
	a := &answers{do: func(bridge.Call) (any, error) { return nil, errors.New("the disk is slow") }}
	s.Bridge.Answers = a
	s.enqueue("work", "one", listTasks, mod)
	s.carry("work")
	if f := s.fate("work", "one"); !f.Deferred {
		t.Errorf("after an error that passes: %+v", f)
	}
	s.carry("work")
	if len(a.seen) != 2 || a.seen[0].Key != a.seen[1].Key {
		t.Errorf("keys: %+v", a.seen)
	}
}

func TestCallsAreRefusedWithTheReason(t *testing.T) {
	refusal := &ipc.Refusal{Code: "no_such_task", Message: "no task has that id", Hint: "see list_tasks"}
	foreign := listTasks
	foreign.Folder = "family"
	for name, tt := range map[string]struct {
		answers bridge.Answerer
		request ipc.Request
		want    string
	}{
		"a host without answers": {nil, listTasks, "not_supported"},
		"by the answerer":        {&answers{do: func(bridge.Call) (any, error) { return nil, refusal }}, listTasks, "no_such_task"},
		"another group's name":   {&answers{do: func(bridge.Call) (any, error) { return nil, nil }}, foreign, "wrong_group"},
		"an endless answer":      {&answers{do: func(bridge.Call) (any, error) { return strings.Repeat("x", ipc.MaxData), nil }}, listTasks, "answer_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.Bridge.Answers = tt.answers
			f := s.handle("work", tt.request)[0]
			if f.Refusal == nil || f.Refusal.Code != tt.want || f.Refusal.Hint == "" {
				t.Errorf("%s", cmp.Diff(tt.want, f))
			}
		})
	}
}
