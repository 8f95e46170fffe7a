package turns

import (
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// remember keeps messages for the assistant to read again.
func (m *Manager) remember(c *chat, records []*record) {
	if len(records) == 0 {
		return
	}
	if err := c.store.Do("remember messages", c.store.Remembering(messages(records))); err != nil {
		m.o.Log.Warn("messages cannot be looked at again", "group", c.group.Folder, "error", err)
	}
}

// Past returns the messages of a thread that the group's assistant may read again, oldest
// first: those that a turn was given or, if the group has history: all, every message that
// was heard. Errors pass.
func (m *Manager) Past(folder, thread string) ([]inbound.Past, error) {
	c, err := m.enter(folder)
	if err != nil {
		return nil, err
	}
	defer m.exit(c)
	all, err := c.store.Past()
	return slices.DeleteFunc(all, func(p inbound.Past) bool { return p.Thread != thread || inbound.Elsewhere(p.Chat, c.group) }), err
}

// Knows reports whether a thread's assistant was given a member's message with this id of
// the platform, or may read it. Errors pass.
func (m *Manager) Knows(folder, thread, message string) (bool, error) {
	all, err := m.Past(folder, thread)
	return slices.ContainsFunc(all, func(p inbound.Past) bool { return p.ID == message }), err
}

// Bring makes sure that a file of an earlier message is in the inbox, and returns its path
// in the container. number counts from 1. Errors are refusals, or pass.
func (m *Manager) Bring(ctx context.Context, folder, thread, id string, number int) (string, error) {
	all, err := m.Past(folder, thread)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(p inbound.Past) bool { return p.ID == id })
	if i < 0 {
		return "", &refusal.Error{Code: "unknown_message", Message: "you have been given no message with that id here", Hint: "list_messages has the ids"}
	}
	if number < 1 || number > len(all[i].Files) {
		return "", &refusal.Error{Code: "no_such_file", Message: fmt.Sprintf("the message has %s, and you asked for number %d", media.Count(len(all[i].Files), "file"), number), Hint: "list_messages numbers the files from 1"}
	}
	c, err := m.enter(folder)
	if err != nil {
		return "", err
	}
	defer m.exit(c)
	return c.inbox.Bring(ctx, all[i].Files[number-1])
}
