package web

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

var (
	_ channel.Editor   = (*Web)(nil)
	_ channel.Reactor  = (*Web)(nil)
	_ channel.Unsender = (*Web)(nil)

	_ channel.PollEnder = (*Web)(nil)
)

// EditWithin implements channel.Editor.
func (w *Web) EditWithin() time.Duration { return channel.Forever }

// UnsendWithin implements channel.Unsender.
func (w *Web) UnsendWithin() time.Duration { return channel.Forever }

// Edit implements channel.Editor: pages show the new text and mark it as edited.
func (w *Web) Edit(ctx context.Context, c channel.Change) error {
	if err := channel.Check(w.Name(), channel.Message{Text: c.Text}, w.limits); err != nil {
		return err
	}
	text := cleanText(c.Text)
	return w.change(ctx, c, edit(text, history.Show(text), true))
}

// edit replaces the text of a message of the assistant, or of a member, unless it is the
// same.
func edit(text string, s history.Shown, assistant bool) func(*history.Message) bool {
	return func(m *history.Message) bool {
		if m.Assistant != assistant || m.Text == text {
			return false
		}
		m.Text, m.Shown, m.Edited, m.EditedAt = text, s, true, time.Now().UTC().Truncate(time.Millisecond)
		return true
	}
}

// React implements channel.Reactor.
func (w *Web) React(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, react("", w.now().AssistantName, c.Emoji))
}

// Unsend implements channel.Unsender: pages show that a message was deleted. Its text and
// the bytes of its file are deleted.
func (w *Web) Unsend(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, remove)
}

// react sets or removes one person's reaction to a message.
func react(who, name, emoji string) func(*history.Message) bool {
	clean := channel.CleanName(emoji)
	return func(m *history.Message) bool {
		i := slices.IndexFunc(m.Reactions, func(r history.Reaction) bool { return r.Who == who })
		switch {
		case emoji == "" && i >= 0:
			m.Reactions = slices.Delete(m.Reactions, i, i+1)
		case clean == "": // it would be an empty mark
			return false
		case i < 0:
			m.Reactions = append(m.Reactions, history.Reaction{Emoji: clean, Name: name, Who: who})
		case m.Reactions[i].Emoji == clean:
			return false
		default:
			m.Reactions[i] = history.Reaction{Emoji: clean, Name: name, Who: who}
		}
		return true
	}
}

// remove deletes the content of a message.
func remove(m *history.Message) bool {
	m.Removed, m.Text, m.Shown, m.Quote, m.File, m.Reactions, m.Poll = true, "", history.Shown{}, nil, nil, nil, nil
	return true
}

// change makes a change durable and shows it. do reports whether anything changed. Deleted
// messages cannot change.
func (w *Web) change(ctx context.Context, c channel.Change, do func(*history.Message) bool) error {
	r, err := w.roomOf(c.Chat)
	if err != nil {
		return err
	}
	if !w.opened.Load() {
		return w.errNotOpen()
	}
	leave, err := w.entered.Enter(ctx, r.name)
	if err != nil {
		return err
	}
	defer leave()
	before, err := w.store.ByID(ctx, r.name, c.Target)
	if err != nil {
		return err
	}
	if before == nil {
		return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "the chat does not have that message any more", Hint: "send a new one"}
	}
	if before.Removed {
		return nil // there is nothing left to change
	}
	_, err = w.apply(ctx, r, before, nil, do)
	return err
}

// apply makes a change of a message durable, together with the act that asks for it, and
// shows it; nil if nothing changed. The caller has entered the chat.
func (w *Web) apply(ctx context.Context, r *room, before *history.Message, by *history.Act, do func(*history.Message) bool) (*history.Change, error) {
	after, err := w.store.Change(context.WithoutCancel(ctx), r.name, before.ID, by, do)
	if err != nil || after == nil {
		return nil, err
	}
	if f := before.File; f != nil && after.Message.File == nil {
		if err := w.files.RemoveFile(r.name, f); err != nil {
			w.log.Warn("a removed file is deleted at the next start", "error", err)
		}
	}
	w.hub.publish(r.name, after)
	return after, nil
}
