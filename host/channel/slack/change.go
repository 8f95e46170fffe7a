package slack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// noMessage returns the error of a change if Slack does not have the message.
func (s *Slack) noMessage() error { return s.api.Refuse(webapi.Word{Said: "message_not_found"}) }

// changed returns the error of a change. A missing scope is Permanent here, so that it does not
// hold up the chat's messages.
func (s *Slack) changed(err error) error {
	var e *channel.Error
	if webapi.Says(err, "missing_scope") && errors.As(err, &e) {
		mine := *e
		mine.Class, mine.Hint = channel.Permanent, "the operator adds the scope, and installs the app again: longshore pair slack"
		return &mine
	}
	if err != nil {
		return s.note(channel.Message{}, err)
	}
	return nil
}

// update returns what chat.update takes. No blocks remove those that are there. Without parse "none",
// Slack parses a text differently from chat.postMessage.
func update(id, ts, text string, blocks ...block) map[string]any {
	return map[string]any{"channel": id, "ts": ts, "text": text, "parse": "none", "blocks": slices.Concat([]block{}, blocks)}
}

// Edit implements channel.Editor. If Slack does not allow the text of a message with files to be
// changed, the error is not_supported; after the workspace's time limit, it is too_late.
func (s *Slack) Edit(ctx context.Context, c channel.Change) error {
	return s.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		if err := open.Editable(ctx, c.Chat, c.Target); err != nil {
			return err
		}
		return s.changed(s.edit(ctx, c))
	})
}

func (s *Slack) edit(ctx context.Context, c channel.Change) error {
	u := update(decode.IDOf(c.Chat), c.Target, c.Text)
	if c.Files { // Slack documents nowhere that a message keeps files which are not named
		m, err := s.message(ctx, c)
		if err != nil {
			return err
		}
		var ids []string
		for _, f := range decode.FilesOf(m.Files) {
			ids = append(ids, f.ID)
		}
		u["file_ids"] = ids
	}
	err := s.api.Post(ctx, "chat.update", u, nil)
	if c.Files && webapi.Says(err, "cant_update_message") {
		return &channel.Error{Class: channel.Permanent, Code: "not_supported", Message: "Slack does not let the text of this message with files be edited",
			Hint: "unsend the message and send it again, or send another message", Err: err}
	}
	return err
}

// message returns the message that c changes.
func (s *Slack) message(ctx context.Context, c channel.Change) (*decode.Message, error) {
	if !decode.IsTimestamp(c.Target) {
		return nil, s.noMessage()
	}
	for _, in := range []string{c.Target, c.Thread} {
		if in == "" {
			continue
		}
		all, _, err := page[decode.Message](ctx, s.api, decode.IDOf(c.Chat), url.Values{"ts": {in}, "oldest": {c.Target}, "latest": {c.Target}, "inclusive": {"true"}, "limit": {"2"}})
		if err != nil && channel.FormOf(err) == "" {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(m decode.Message) bool { return m.TS == c.Target }); i >= 0 {
			return &all[i], nil
		}
	}
	return nil, s.noMessage()
}

// Unsend implements channel.Unsender. It deletes the app's files first, since only the message
// names them. A message that is gone already is no error.
func (s *Slack) Unsend(ctx context.Context, c channel.Change) error {
	return s.Within(ctx, func(ctx context.Context, _ *bot.Open) error { return s.changed(s.unsend(ctx, c)) })
}

func (s *Slack) unsend(ctx context.Context, c channel.Change) error {
	var left error // a file that Slack does not delete
	if c.Files {
		m, err := s.message(ctx, c)
		if webapi.Says(err, "message_not_found") {
			return nil
		}
		if err != nil {
			return err
		}
		if left = s.deleteFiles(ctx, decode.FilesOf(m.Files)); left != nil && channel.ClassOf(left) != channel.Permanent {
			return left
		}
	}
	err := s.api.Post(ctx, "chat.delete", map[string]string{"channel": decode.IDOf(c.Chat), "ts": c.Target}, nil)
	if err := webapi.Unless(err, "message_not_found"); err != nil {
		return err
	}
	if left != nil {
		return &channel.Error{Class: channel.Permanent, Code: "not_allowed", Message: "the message is deleted, and Slack keeps its file",
			Hint: "a member or an admin of the workspace can delete the file", Err: left}
	}
	return nil
}

// deleteFiles deletes the app's own files. It goes on after a Permanent error, and returns it at
// the end.
func (s *Slack) deleteFiles(ctx context.Context, files []decode.File) (left error) {
	me := s.self.Load()
	for _, f := range files {
		if me == nil || f.User != me.UserID || !decode.IsID(f.ID) {
			continue
		}
		err := webapi.Unless(s.api.refusal(s.api.slack.DeleteFileContext(ctx, f.ID)), "file_not_found|file_deleted")
		if err != nil && channel.ClassOf(err) != channel.Permanent {
			return err
		}
		left = cmp.Or(err, left)
	}
	return left
}

// React implements channel.Reactor. On Slack the app may have several reactions to a message;
// React removes all but the one. Without the scope reactions:read it only adds.
func (s *Slack) React(ctx context.Context, c channel.Change) error {
	name := ""
	if c.Emoji != "" {
		var ok bool
		if name, ok = s.emojis.Name(c.Emoji); !ok {
			return emoji.Hint(s.api.Refuse(webapi.Word{Said: "invalid_name"}), c.Emoji, s.emojis.Has)
		}
	}
	err := s.Within(ctx, func(ctx context.Context, _ *bot.Open) error { return s.changed(s.react(ctx, c, name)) })
	return emoji.Hint(err, c.Emoji, s.emojis.Has)
}

func (s *Slack) react(ctx context.Context, c channel.Change, name string) error {
	if !decode.IsTimestamp(c.Target) {
		return s.noMessage()
	}
	id := decode.IDOf(c.Chat)
	sign := s.signs.reacted(c.Chat, c.Target, name == reaction)
	if name != "" {
		if err := s.mark(ctx, "add", id, c.Target, name); err != nil {
			return err
		}
	}
	var there struct {
		Message struct {
			Reactions []slackgo.ItemReaction
		}
	}
	err := s.api.Ask(ctx, http.MethodPost, "reactions.get", url.Values{"channel": {id}, "timestamp": {c.Target}, "full": {"true"}}, &there)
	if webapi.Says(err, "missing_scope") && name != "" || webapi.Says(err, "message_not_found") && name == "" {
		return nil
	}
	if err != nil {
		return err
	}
	me := s.self.Load()
	for _, r := range there.Message.Reactions {
		if r.Name == name || r.Name == reaction && sign || me == nil || !slices.Contains(r.Users, me.UserID) {
			continue
		}
		if err := s.mark(ctx, "remove", id, c.Target, r.Name); err != nil {
			return err
		}
	}
	return nil
}

// mark adds a reaction to a message, or removes it. It is no error if that is so already.
func (s *Slack) mark(ctx context.Context, do, id, ts, name string) error {
	of := slackgo.NewRefToMessage(id, ts)
	if do == "add" {
		return webapi.Unless(s.api.refusal(s.api.slack.AddReactionContext(ctx, name, of)), "already_reacted")
	}
	return webapi.Unless(s.api.refusal(s.api.slack.RemoveReactionContext(ctx, name, of)), "no_reaction|message_not_found")
}
