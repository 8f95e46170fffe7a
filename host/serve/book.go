package serve

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// book shows channels the scheduled tasks of their chats. The channels are made before
// the tasks are opened.
type book struct {
	tasks  atomic.Pointer[tasks.Tasks]
	groups func() *groups.Registry
}

// of is the book of one channel; nil of a configuration that is only looked at.
func (b *book) of(name string) channel.TaskBook {
	if b == nil {
		return nil
	}
	return page{b, name}
}

type page struct {
	*book
	channel string
}

// open finds the tasks, and the group of a chat.
func (p page) open(chat groups.JID) (*tasks.Tasks, string, error) {
	ts := p.tasks.Load()
	g, ok := p.groups().ByAddress(groups.Address{Channel: p.channel, JID: chat})
	if ts == nil || !ok {
		return nil, "", &refusal.Error{Code: "unknown_task", Message: "the chat has no tasks"}
	}
	return ts, g.Folder, nil
}

// Tasks implements channel.TaskBook.
func (p page) Tasks(ctx context.Context, chat groups.JID) ([]channel.Task, error) {
	ts, folder, err := p.open(chat)
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

// Operate implements channel.TaskBook.
func (p page) Operate(ctx context.Context, chat groups.JID, id, verb string) (string, error) {
	ts, folder, err := p.open(chat)
	if err != nil {
		return "", err
	}
	all, err := ts.List(ctx, folder)
	if err != nil {
		return "", err
	}
	for _, t := range all {
		if t.ID == id {
			answer, err := ts.Operate(ctx, id, verb)
			return answer.Words, err
		}
	}
	return "", &refusal.Error{Code: "unknown_task", Message: "the chat has no such task", Hint: "reload the list"}
}
