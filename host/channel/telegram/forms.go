package telegram

import "github.com/longshore-bridge/longshore/host/channel"

// forms are Telegram's words that refuse a form. The server's are in
// https://core.telegram.org/method/messages.sendMedia, others in github.com/tdlib/td
// (can_send_message_content, check_full_local_location, do_send_message_group) and
// github.com/tdlib/telegram-bot-api (Client.cpp). Of a refused album nothing was sent.
var forms = []channel.Row{
	refusedKind("voice_messages_forbidden", "the member takes no voice notes"),
	refusedKind("restricted receiving of voice note", "the member takes no voice notes"),
	refusedRight("not enough rights to send voice notes", "the chat takes no voice notes"),
	refusedRight("chat_send_voices_forbidden", "the chat takes no voice notes"),
	refusedRight("not enough rights to send music", "the chat takes no music"),
	refusedRight("chat_send_audios_forbidden", "the chat takes no music"),
	refusedRight("not enough rights to send photos", "the chat takes no pictures"),
	refusedRight("chat_send_photos_forbidden", "the chat takes no pictures"),
	refusedRight("not enough rights to send videos", "the chat takes no films"),
	refusedRight("chat_send_videos_forbidden", "the chat takes no films"),
	refusedRight("not enough rights to send animations", "the chat takes no looping films"),
	refusedRight("chat_send_gifs_forbidden", "the chat takes no looping films"),
	refusedRight("not enough rights to send stickers", "the chat takes no stickers"),
	refusedRight("chat_send_stickers_forbidden", "the chat takes no stickers"),
	refusedKind("photo_invalid", "Telegram does not show this as a picture"), // photo_invalid_dimensions, too
	refusedKind("photo_ext_invalid", "Telegram does not show this as a picture"),
	refusedKind("photo_content_type_invalid", "Telegram does not show this as a picture"),
	refusedKind("photo_save_file_invalid", "Telegram does not show this as a picture"),
	refusedKind("image_process_failed", "Telegram does not show this as a picture"),
	refusedKind("too big for a photo", "Telegram does not show this as a picture"),
	refusedKind("video_content_type_invalid", "Telegram does not show this as a film"),
	refusedKind("video_file_invalid", "Telegram does not show this as a film"),
	refusedKind("gif_content_type_invalid", "Telegram does not show this as a looping film"),
	refusedKind("sticker_invalid", "Telegram does not show this as a sticker"),
	refusedKind("can't use file of type", "Telegram has the file as another kind"),
	refusedKind("media_invalid", "Telegram does not show this file so"),
	{Said: "group send failed", Class: channel.Permanent, Code: "message_refused", Words: "Telegram does not show these files together", Form: channel.FormAlbum},
	{Said: "in the album", Class: channel.Permanent, Code: "message_refused", Words: "Telegram does not show these files together", Form: channel.FormAlbum},
	{Said: "to be replied", Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is gone", Form: channel.FormReply},
	{Said: "reply_message_id_invalid", Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is gone", Form: channel.FormReply},
	{Said: "reply message not found", Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is gone", Form: channel.FormReply},
	{Said: "message thread not found", Class: channel.Permanent, Code: "unknown_thread", Words: "the topic is gone", Form: channel.FormThread},
	{Said: "topic_deleted", Class: channel.Permanent, Code: "unknown_thread", Words: "the topic is gone", Form: channel.FormThread},
	{Said: "topic_id_invalid", Class: channel.Permanent, Code: "unknown_thread", Words: "the topic is gone", Form: channel.FormThread},
}

func refusedKind(said, words string) channel.Row {
	return channel.Row{Said: said, Class: channel.Permanent, Code: "kind_refused", Words: words, Hint: "send it as a document, or as a text", Form: channel.FormKind}
}

func refusedRight(said, words string) channel.Row {
	row := refusedKind(said, words)
	row.Code, row.Hint = "not_allowed", "an admin of the chat allows it, or send it as a document"
	return row
}

// topicGone returns the error of a topic that has no possible id.
func topicGone() error {
	row, _ := channel.RowOf(forms, 0, "topic_id_invalid")
	return row.Error(nil)
}
