package serve

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// taskLists show channels the scheduled tasks of their chats. Channels are made before the tasks are
// opened: until then tasks is nil, and no chat has any.
type taskLists struct {
	tasks  atomic.Pointer[tasks.Tasks]
	groups *live.Current
}

func (b *taskLists) of(name string) channel.TaskBook { return taskList{b, name} }

// taskList implements channel.TaskBook for one channel.
type taskList struct {
	*taskLists
	channel string
}

// find returns the tasks, and the group of a chat.
func (p taskList) find(chat groups.JID) (*tasks.Tasks, string, error) {
	ts := p.tasks.Load()
	g, ok := p.groups.Registry().ByAddress(groups.Address{Channel: p.channel, JID: chat})
	if ts == nil || !ok {
		return nil, "", &refusal.Error{Code: "unknown_task", Message: "the chat has no tasks"}
	}
	return ts, g.Folder, nil
}

func (p taskList) Tasks(ctx context.Context, chat groups.JID) ([]channel.Task, error) {
	ts, folder, err := p.find(chat)
	if err != nil {
		return nil, err
	}
	all, err := ts.List(ctx, folder)
	shown := make([]channel.Task, len(all))
	for i, t := range all {
		shown[i] = channel.Task{ID: t.ID, Name: cmp.Or(t.Name, media.Cut(t.Prompt, 60)), Prompt: t.Prompt, Words: t.Words,
			Paused: t.Status == tasks.Paused, Running: t.Running, Ended: t.Status == tasks.Completed}
	}
	return shown, err
}

// Operate acts on a task of that chat only.
func (p taskList) Operate(ctx context.Context, chat groups.JID, id, verb string) (string, error) {
	ts, folder, err := p.find(chat)
	if err != nil {
		return "", err
	}
	all, err := ts.List(ctx, folder)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(all, func(t tasks.Task) bool { return t.ID == id }) {
		return "", &refusal.Error{Code: "unknown_task", Message: "the chat has no such task", Hint: "reload the list"}
	}
	answer, err := ts.Operate(ctx, id, verb)
	return answer.Words, err
}

// openTasks makes the list of scheduled tasks.
func (h *Host) openTasks(ctx context.Context) (_ Part, err error) {
	h.tasks = tasks.New(tasks.Options{State: h.State, Host: h.plans, Log: h.opts.Log})
	h.lists.tasks.Store(h.tasks)
	return tasksPart{Tasks: h.tasks, h: h}, h.takeOverTasks(ctx)
}

func (p plans) Spent(folder string) bool   { return p.spent(folder) }
func (p plans) TasksChanged(folder string) { p.tellSnapshots(folder) }

// taskRuns implements tasks.Assistants: it begins the runs of tasks, and traces them.
type taskRuns struct{ *Host }

func (r taskRuns) Task(folder, thread, run, prompt string, isolated bool) (open bool, err error) {
	r.opts.Trace(folder, run, "task claimed")
	defer r.opts.Trace(folder, run, "task begun")
	return r.assistants.Task(folder, thread, run, prompt, isolated)
}
