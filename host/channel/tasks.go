package channel

import (
	"context"

	"github.com/longshore-bridge/longshore/groups"
)

// Task is a scheduled task of a chat, for people.
type Task struct {
	ID      string `json:"id"`
	Name    string `json:"name"` // or how its prompt begins
	Prompt  string `json:"prompt"`
	Words   string `json:"words"` // when it runs
	Paused  bool   `json:"paused"`
	Running bool   `json:"running"`
	Ended   bool   `json:"ended"` // it does not run again
}

// TaskBook holds the scheduled tasks of a channel's chats, for a channel that shows them to
// members. An error that has a refusal in its chain is permanent; others are temporary.
type TaskBook interface {
	Tasks(ctx context.Context, chat groups.JID) ([]Task, error)

	// Operate pauses, resumes, runs or cancels a task of the chat. words say what it did.
	Operate(ctx context.Context, chat groups.JID, id, verb string) (words string, err error)
}
