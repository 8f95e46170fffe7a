package telegram

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
)

// UnsendWithin returns 48 hours: https://core.telegram.org/bots/api#deletemessage.
func (t *Telegram) UnsendWithin() time.Duration { return unsendable }

// change calls a method that changes the message of c, with its chat and id.
func (t *Telegram) change(ctx context.Context, c channel.Change, method string, a args) error {
	ctx, open, leave, err := t.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	id := numberOf(c.Target)
	if id == 0 {
		return refused(&word{code: 400, text: messageGone}, 0)
	}
	a["chat_id"] = t.moved.now(idOf(c.Chat))
	if a["message_ids"] == nil {
		a["message_id"] = id
	}
	err = t.api.ask(ctx, method, a, nil)
	if to := t.migrated(ctx, open.Journal, c.Chat, err); to != 0 {
		a["chat_id"] = to
		err = t.api.ask(ctx, method, a, nil)
	}
	return err
}

// Edit implements channel.Editor.
func (t *Telegram) Edit(ctx context.Context, c channel.Change) error {
	method, a := "editMessageText", args{"link_preview_options": preview{true}}
	a.text("text", "entities", c.Text)
	if c.Files {
		method, a = "editMessageCaption", args{}
		a.text("caption", "caption_entities", c.Text)
	}
	if err := t.change(ctx, c, method, a); !says(err, notModified) {
		return err
	}
	return nil
}

// Unsend implements channel.Unsender. A message that is gone already is no error.
func (t *Telegram) Unsend(ctx context.Context, c channel.Change) error {
	method, a := "deleteMessage", args{}
	if o := t.Open(); o != nil {
		ids, err := albumOf(ctx, o.Journal, c.Chat, c.Target)
		if err != nil {
			return err
		}
		if ids != nil {
			method, a = "deleteMessages", args{"message_ids": ids}
		}
	}
	if err := t.change(ctx, c, method, a); !says(err, deletedGone) {
		return err
	}
	return nil
}

// mark is a reaction, in Telegram's words.
type mark struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji,omitempty"`
}

// React implements channel.Reactor. A bot has one reaction to a message.
func (t *Telegram) React(ctx context.Context, c channel.Change) error {
	all := []mark{}
	if c.Emoji != "" {
		all = append(all, mark{"emoji", emoji.Bare(c.Emoji)})
	}
	err := t.change(ctx, c, "setMessageReaction", args{"reaction": all})
	return emoji.Hint(err, c.Emoji, func(s string) bool { return slices.Contains(strings.Fields(reactions), emoji.Bare(s)) })
}

// reactions are the emoji that Telegram takes; a chat may take fewer:
// https://core.telegram.org/bots/api#reactiontypeemoji.
const reactions = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"

// Typing implements channel.Typing. Telegram hides it by itself after 5 seconds.
func (t *Telegram) Typing(ctx context.Context, chat groups.JID, thread string, on bool) {
	if !on {
		return
	}
	ctx, _, leave, err := t.Enter(ctx)
	if err != nil {
		return
	}
	defer leave()
	args := map[string]any{"chat_id": t.moved.now(idOf(chat)), "action": "typing"}
	if id := numberOf(thread); id != 0 {
		args["message_thread_id"] = id
	}
	if err := t.api.ask(ctx, "sendChatAction", args, nil); err != nil && ctx.Err() == nil {
		t.Log.Debug("show that somebody is writing", "error", err)
	}
}
