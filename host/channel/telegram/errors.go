package telegram

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/media"
)

// word is Telegram's refusal in its own words, as the cause of a *channel.Error.
type word struct {
	code      int
	text      string
	migrateTo int64
}

func (w *word) Error() string {
	return "Telegram says " + media.Cut(media.Printable(w.text), 120)
}

// refusals are the errors that mean more than a refused message, in the words of
// github.com/tdlib/telegram-bot-api. The first row that fits counts.
var refusals = []channel.Row{
	{Status: 401, Class: channel.Held, Code: "telegram_token_refused", Words: "Telegram does not accept the bot's token", Hint: "take the bot's token from @BotFather and put it in place"},
	{Status: 404, Class: channel.Held, Code: "telegram_token_refused", Words: "Telegram knows no bot with this token", Hint: "take the bot's token from @BotFather and put it in place"},
	{Status: 409, Class: channel.Held, Code: "telegram_in_use", Words: "another program takes the bot's messages", Hint: "stop the other program, or delete its webhook; each host needs a bot of its own"},
	{Status: 413, Class: channel.Permanent, Code: "file_too_large", Words: "Telegram takes no file of this size", Hint: "send a smaller file"},
	{Said: "chat not found", Class: channel.Permanent, Code: "unknown_chat", Words: "Telegram knows no such chat, or the bot is not in it", Hint: "a member adds the bot to the chat"},
	{Said: "peer_id_invalid", Class: channel.Permanent, Code: "unknown_chat", Words: "Telegram knows no such chat, or the bot is not in it", Hint: "a member adds the bot to the chat"},
	{Said: "bot was blocked", Class: channel.Permanent, Code: "not_a_member", Words: "the member has blocked the bot", Hint: "the member unblocks the bot"},
	{Said: "can't initiate conversation", Class: channel.Permanent, Code: "not_a_member", Words: "the bot may not write first", Hint: "the member writes /start to the bot"},
	{Said: "bot was kicked", Class: channel.Permanent, Code: "not_a_member", Words: "the bot is not in the chat any more", Hint: "a member adds the bot to the chat again"},
	{Said: "bot is not a member", Class: channel.Permanent, Code: "not_a_member", Words: "the bot is not in the chat", Hint: "a member adds the bot to the chat"},
	{Said: "not enough rights", Class: channel.Permanent, Code: "not_allowed", Words: "the bot may not do this in the chat", Hint: "an admin of the chat allows the bot to send messages and media"},
	{Said: "have no rights", Class: channel.Permanent, Code: "not_allowed", Words: "the bot may not write in the chat", Hint: "an admin of the chat allows the bot to send messages"},
	{Said: "topic_closed", Class: channel.Permanent, Code: "not_allowed", Words: "the topic is closed", Hint: "an admin opens the topic again, or makes the bot an admin"},
	{Said: "reaction_invalid", Class: channel.Permanent, Code: "unknown_emoji", Words: "Telegram takes no such reaction here", Hint: "react with another emoji"},
	{Said: "message is too long", Class: channel.Permanent, Code: "text_too_long", Words: "the text is too long for Telegram", Hint: "split the text, or send it as a file"},
	{Said: messageGone, Class: channel.Permanent, Code: "unknown_message", Words: "Telegram does not have the message any more", Hint: "send another message"},
	{Said: "message to react not found", Class: channel.Permanent, Code: "unknown_message", Words: "Telegram does not have the message any more", Hint: "send another message"},
	{Said: deletedGone, Class: channel.Permanent, Code: "unknown_message", Words: "Telegram does not have the message any more", Hint: "send another message"},
	{Said: pollGone, Class: channel.Permanent, Code: "unknown_message", Words: "Telegram does not have the question any more", Hint: "send another message"},
	{Said: "poll can't be stopped", Class: channel.Permanent, Code: "not_your_message", Words: "Telegram does not let the bot end this question", Hint: "only questions that the bot itself asked can be ended"},
	{Said: "message can't be edited", Class: channel.Permanent, Code: "not_your_message", Words: "Telegram does not let the bot change this message", Hint: "only messages that the bot itself sent can be changed"},
	{Said: "message can't be deleted", Class: channel.Permanent, Code: "not_allowed", Words: "Telegram does not let the bot delete this message", Hint: "an admin of the chat can delete it"},
}

// Telegram's words that other files use.
const (
	messageGone = "message to edit not found"
	deletedGone = "message to delete not found"
	pollGone    = "message with poll to stop not found"
	pollClosed  = "poll has already been closed"
	notModified = "message is not modified"
)

// refused returns the error for Telegram's words, which are foreign. seconds is how long Telegram
// wants to be left alone.
func refused(w *word, seconds int64) error {
	switch {
	case w.code == 429:
		return link.Slow(platformName, time.Duration(min(max(seconds, 1), 1<<31))*time.Second, w)
	case w.code/100 == 5:
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Telegram failed and may have taken the message", Err: w}
	}
	row, known := channel.RowOf(slices.Concat(forms, refusals), w.code, w.text)
	if !known {
		return &channel.Error{Class: channel.Permanent, Code: "message_refused",
			Message: fmt.Sprintf("Telegram refused the message (%s)", media.Cut(media.Printable(w.text), 120)), Err: w}
	}
	return row.Error(w)
}

// says reports whether Telegram refused with these words, in lower case, among others.
func says(err error, words string) bool {
	var w *word
	return errors.As(err, &w) && strings.Contains(strings.ToLower(w.text), words)
}

func isWord(err error) bool {
	var w *word
	return errors.As(err, &w)
}
