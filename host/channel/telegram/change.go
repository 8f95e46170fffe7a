package telegram

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// UnsendWithin returns 48 hours: https://core.telegram.org/bots/api#deletemessage.
func (t *Telegram) UnsendWithin() time.Duration { return unsendable }

// change calls a method that changes the message of c, with its chat and id.
func (t *Telegram) change(ctx context.Context, c channel.Change, method string, a args) error {
	id := numberOf(c.Target)
	if id == 0 {
		return meant(messageGone)
	}
	if a["message_ids"] == nil {
		a["message_id"] = id
	}
	return t.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		return t.following(ctx, open.Journal, c.Chat, func(chat int64) error {
			a["chat_id"] = chat
			return t.api.Ask(ctx, "POST", method, a, nil)
		})
	})
}

// Edit implements channel.Editor.
func (t *Telegram) Edit(ctx context.Context, c channel.Change) error {
	method, a := "editMessageText", args{"link_preview_options": noPreview}
	a.text("text", "entities", c.Text)
	if c.Files {
		method, a = "editMessageCaption", args{}
		a.text("caption", "caption_entities", c.Text)
	}
	return webapi.Unless(t.change(ctx, c, method, a), notModified)
}

// Unsend implements channel.Unsender. A message that is gone already is no error.
func (t *Telegram) Unsend(ctx context.Context, c channel.Change) error {
	method, a := "deleteMessage", args{}
	if o := t.Open(); o != nil {
		if ids, err := albumOf(ctx, o.Journal, c.Chat, c.Target); err != nil {
			return err
		} else if ids != nil {
			method, a = "deleteMessages", args{"message_ids": ids}
		}
	}
	return webapi.Unless(t.change(ctx, c, method, a), deletedGone)
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
	a := args{"chat_id": t.moved.now(idOf(chat)), "action": "typing"}
	if id := numberOf(thread); id != 0 {
		a["message_thread_id"] = id
	}
	err := t.Within(ctx, func(ctx context.Context, _ *bot.Open) error { return t.api.Ask(ctx, "POST", "sendChatAction", a, nil) })
	if err != nil && ctx.Err() == nil {
		t.Log.Debug("show that somebody is writing", "error", err)
	}
}
