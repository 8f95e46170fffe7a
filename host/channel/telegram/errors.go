package telegram

import "github.com/longshore-bridge/longshore/host/channel"

// refusals are the errors that mean more than a refused message: first those of a form. The server's are
// in https://core.telegram.org/method/messages.sendMedia, others in github.com/tdlib/td
// (can_send_message_content, check_full_local_location, do_send_message_group) and
// github.com/tdlib/telegram-bot-api (Client.cpp). Of a refused album nothing was sent.
var refusals = []channel.Row{
	refusedKind("voice_messages_forbidden|restricted receiving of voice note|restricted receiving of voice notes", "the member takes no voice notes"),
	refusedRight("not enough rights to send voice notes|chat_send_voices_forbidden", "the chat takes no voice notes"),
	refusedRight("not enough rights to send music|chat_send_audios_forbidden", "the chat takes no music"),
	refusedRight("not enough rights to send photos|chat_send_photos_forbidden", "the chat takes no pictures"),
	refusedRight("not enough rights to send videos|chat_send_videos_forbidden", "the chat takes no films"),
	refusedRight("not enough rights to send animations|chat_send_gifs_forbidden", "the chat takes no looping films"),
	refusedRight("not enough rights to send stickers|chat_send_stickers_forbidden", "the chat takes no stickers"),
	refusedKind("photo_invalid|photo_invalid_dimensions|photo_ext_invalid|photo_content_type_invalid|photo_save_file_invalid|image_process_failed|too big for a photo", "Telegram does not show this as a picture"),
	refusedKind("video_content_type_invalid|video_file_invalid", "Telegram does not show this as a film"),
	refusedKind("gif_content_type_invalid", "Telegram does not show this as a looping film"),
	refusedKind("sticker_invalid", "Telegram does not show this as a sticker"),
	refusedKind("can't use file of type", "Telegram has the file as another kind"),
	refusedKind("media_invalid", "Telegram does not show this file so"),
	{On: "group send failed|in the album", Class: channel.Permanent, Code: "message_refused", Words: "Telegram does not show these files together", Form: channel.FormAlbum},
	{On: "to be replied|reply_message_id_invalid|reply message not found", Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is gone", Form: channel.FormReply},
	{On: "message thread not found|topic_deleted|topic_id_invalid", Class: channel.Permanent, Code: "unknown_thread", Words: "the topic is gone", Form: channel.FormThread},
	{On: "401", Class: channel.Held, Code: "telegram_token_refused", Words: "Telegram does not accept the bot's token", Hint: "take the bot's token from @BotFather and put it in place"},
	{On: "404", Class: channel.Held, Code: "telegram_token_refused", Words: "Telegram knows no bot with this token", Hint: "take the bot's token from @BotFather and put it in place"},
	{On: "409", Class: channel.Held, Code: "telegram_in_use", Words: "another program takes the bot's messages", Hint: "stop the other program, or delete its webhook; each host needs a bot of its own"},
	{On: "chat not found|peer_id_invalid", Class: channel.Permanent, Code: "unknown_chat", Words: "Telegram knows no such chat, or the bot is not in it", Hint: "a member adds the bot to the chat"},
	{On: "bot was blocked", Class: channel.Permanent, Code: "not_a_member", Words: "the member has blocked the bot", Hint: "the member unblocks the bot"},
	{On: "can't initiate conversation", Class: channel.Permanent, Code: "not_a_member", Words: "the bot may not write first", Hint: "the member writes /start to the bot"},
	{On: "bot was kicked", Class: channel.Permanent, Code: "not_a_member", Words: "the bot is not in the chat any more", Hint: "a member adds the bot to the chat again"},
	{On: "bot is not a member", Class: channel.Permanent, Code: "not_a_member", Words: "the bot is not in the chat", Hint: "a member adds the bot to the chat"},
	{On: "not enough rights", Class: channel.Permanent, Code: "not_allowed", Words: "the bot may not do this in the chat", Hint: "an admin of the chat allows the bot to send messages and media"},
	{On: "have no rights", Class: channel.Permanent, Code: "not_allowed", Words: "the bot may not write in the chat", Hint: "an admin of the chat allows the bot to send messages"},
	{On: "topic_closed", Class: channel.Permanent, Code: "not_allowed", Words: "the topic is closed", Hint: "an admin opens the topic again, or makes the bot an admin"},
	{On: "reaction_invalid", Class: channel.Permanent, Code: "unknown_emoji", Words: "Telegram takes no such reaction here", Hint: "react with another emoji"},
	{On: "message is too long", Class: channel.Permanent, Code: "text_too_long", Words: "the text is too long for Telegram", Hint: "split the text, or send it as a file"},
	{On: messageGone + "|message to react not found|" + deletedGone, Class: channel.Permanent, Code: "unknown_message", Words: "Telegram does not have the message any more", Hint: "send another message"},
	{On: pollGone, Class: channel.Permanent, Code: "unknown_message", Words: "Telegram does not have the question any more", Hint: "send another message"},
	{On: "poll can't be stopped", Class: channel.Permanent, Code: "not_your_message", Words: "Telegram does not let the bot end this question", Hint: "only questions that the bot itself asked can be ended"},
	{On: "message can't be edited", Class: channel.Permanent, Code: "not_your_message", Words: "Telegram does not let the bot change this message", Hint: "only messages that the bot itself sent can be changed"},
	{On: "message can't be deleted", Class: channel.Permanent, Code: "not_allowed", Words: "Telegram does not let the bot delete this message", Hint: "an admin of the chat can delete it"},
}

func refusedKind(on, words string) channel.Row {
	return channel.Row{On: on, Class: channel.Permanent, Code: "kind_refused", Words: words, Hint: "send it as a document, or as a text", Form: channel.FormKind}
}

func refusedRight(on, words string) channel.Row {
	row := refusedKind(on, words)
	row.Code, row.Hint = "not_allowed", "an admin of the chat allows it, or send it as a document"
	return row
}

// meant returns the error of words that Telegram would say.
func meant(words string) error {
	row, _ := channel.RowOf(refusals, words)
	return row.Error(nil)
}

// Telegram's words that other files use.
const (
	messageGone = "message to edit not found"
	deletedGone = "message to delete not found"
	pollGone    = "message with poll to stop not found"
	pollClosed  = "poll has already been closed"
	notModified = "message is not modified"
)
