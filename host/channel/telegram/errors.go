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

const again = "it is tried again by itself"

// word is what Telegram said, as the cause of a *channel.Error.
type word struct {
	code      int
	text      string
	migrateTo int64
}

func (w *word) Error() string {
	return "Telegram says " + media.Cut(media.Printable(w.text), 120)
}

// refusal is what Telegram's words for an error mean.
type refusal struct {
	code  int    // Telegram's; 0: any
	said  string // part of its words, in lower case
	class channel.Class
	name  string
	words string
	hint  string
}

// refusals are the errors that mean more than that a message is refused, as
// github.com/tdlib/telegram-bot-api words them. The first that fits counts.
var refusals = []refusal{
	{401, "", channel.Held, "telegram_token_refused", "Telegram does not accept the bot's token", "take the bot's token from @BotFather and put it in place"},
	{404, "", channel.Held, "telegram_token_refused", "Telegram knows no bot with this token", "take the bot's token from @BotFather and put it in place"},
	{409, "", channel.Held, "telegram_in_use", "another program takes the bot's messages", "stop the other program, or delete its webhook; each host needs a bot of its own"},
	{413, "", channel.Permanent, "file_too_large", "Telegram takes no file of this size", "send a smaller file"},
	{0, "chat not found", channel.Permanent, "unknown_chat", "Telegram knows no such chat, or the bot is not in it", "a member adds the bot to the chat"},
	{0, "peer_id_invalid", channel.Permanent, "unknown_chat", "Telegram knows no such chat, or the bot is not in it", "a member adds the bot to the chat"},
	{0, "bot was blocked", channel.Permanent, "not_a_member", "the member has blocked the bot", "the member unblocks the bot"},
	{0, "can't initiate conversation", channel.Permanent, "not_a_member", "the bot may not write first", "the member writes /start to the bot"},
	{0, "bot was kicked", channel.Permanent, "not_a_member", "the bot is not in the chat any more", "a member adds the bot to the chat again"},
	{0, "bot is not a member", channel.Permanent, "not_a_member", "the bot is not in the chat", "a member adds the bot to the chat"},
	{0, "not enough rights", channel.Permanent, "not_allowed", "the bot may not do this in the chat", "an admin of the chat allows the bot to send messages and media"},
	{0, "have no rights", channel.Permanent, "not_allowed", "the bot may not write in the chat", "an admin of the chat allows the bot to send messages"},
	{0, "topic_closed", channel.Permanent, "not_allowed", "the topic is closed", "an admin opens the topic again, or makes the bot an admin"},
	{0, "reaction_invalid", channel.Permanent, "unknown_emoji", "Telegram takes no such reaction here", "react with another emoji"},
	{0, "message is too long", channel.Permanent, "text_too_long", "the text is too long for Telegram", "split the text, or send it as a file"},
	{0, messageGone, channel.Permanent, "unknown_message", "Telegram does not have the message any more", "send another message"},
	{0, "message to react not found", channel.Permanent, "unknown_message", "Telegram does not have the message any more", "send another message"},
	{0, deletedGone, channel.Permanent, "unknown_message", "Telegram does not have the message any more", "send another message"},
	{0, pollGone, channel.Permanent, "unknown_message", "Telegram does not have the question any more", "send another message"},
	{0, "poll can't be stopped", channel.Permanent, "not_your_message", "Telegram does not let the bot end this question", "only questions that the bot itself asked can be ended"},
	{0, "message can't be edited", channel.Permanent, "not_your_message", "Telegram does not let the bot change this message", "only messages that the bot itself sent can be changed"},
	{0, "message can't be deleted", channel.Permanent, "not_allowed", "Telegram does not let the bot delete this message", "an admin of the chat can delete it"},
}

// Telegram's words that are looked at further.
const (
	messageGone = "message to edit not found"
	deletedGone = "message to delete not found"
	pollGone    = "message with poll to stop not found"
	pollClosed  = "poll has already been closed"
	notModified = "message is not modified"
	threadGone  = "message thread not found"
	badPhoto    = "photo_invalid_dimensions"
)

// longestWait is how long Telegram's wish to wait is believed.
const longestWait = time.Hour

// refused is the error for Telegram's words, which are foreign. seconds is how long
// Telegram wants to be left alone.
func refused(w *word, seconds int64) error {
	said := strings.ToLower(w.text)
	switch {
	case w.code == 429:
		return slow(time.Duration(min(max(seconds, 1), int64(longestWait/time.Second)))*time.Second, w)
	case w.code/100 == 5:
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Telegram failed and may have taken the message", Err: w}
	}
	i := slices.IndexFunc(refusals, func(r refusal) bool { return (r.code == 0 || r.code == w.code) && strings.Contains(said, r.said) })
	if i < 0 {
		return &channel.Error{Class: channel.Permanent, Code: "message_refused",
			Message: fmt.Sprintf("Telegram refused the message (%s)", media.Cut(media.Printable(w.text), 120)), Err: w}
	}
	r := refusals[i]
	return &channel.Error{Class: r.class, Code: r.name, Message: r.words, Hint: r.hint, Err: w}
}

// slow is the error while Telegram, or our own rate, wants us to wait.
func slow(wait time.Duration, cause error) error {
	return &channel.Error{Code: "rate_limited", Message: "Telegram takes only so many messages at once", Hint: again, RetryAfter: wait, Err: cause}
}

// says tells whether Telegram's words hold these.
func says(err error, words string) bool {
	var w *word
	return errors.As(err, &w) && strings.Contains(strings.ToLower(w.text), words)
}

func isWord(err error) bool {
	var w *word
	return errors.As(err, &w)
}

// stopOf is the reason for staying down; err itself if it passes.
func stopOf(err error) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Held {
		return err
	}
	return &link.Stop{Code: e.Code, Message: e.Message, Hint: e.Hint, Detail: fmt.Sprint(e.Err), Wait: link.After(time.Minute)}
}
