package discord

import "github.com/longshore-bridge/longshore/host/channel"

// known are the errors of discord.com/developers/docs/topics/opcodes-and-status-codes, and then the
// statuses, that mean more than that a request is refused.
var known = []channel.Row{
	{On: "10003", Class: channel.Permanent, Code: "unknown_chat", Words: "Discord knows no such chat or thread", Hint: "ask the operator whether the chat in the group is right", Form: channel.FormThread},
	{On: "10004", Class: channel.Permanent, Code: "unknown_chat", Words: "Discord knows no such chat or thread", Hint: "ask the operator whether the chat in the group is right"},
	{On: "10008", Class: channel.Permanent, Code: "unknown_message", Words: "Discord does not have the message any more", Hint: "send another message", Form: channel.FormReply},
	{On: "10014", Class: channel.Permanent, Code: "unknown_emoji", Words: "Discord has no such emoji", Hint: "react with another emoji"},
	{On: "50001", Class: channel.Held, Code: "discord_no_access", Words: "the bot cannot see the Discord channel", Hint: "in Discord, give its role the right View Channel there, or invite it again"},
	{On: "50013", Class: channel.Held, Code: "discord_right_missing", Words: "the bot lacks a right in the Discord channel", Hint: "in Discord, give its role Send Messages, Send Messages in Threads, Attach Files, Add Reactions and Read Message History there"},
	{On: "40001|40002|20001", Class: channel.Held, Code: "discord_not_allowed", Words: "Discord does not let the bot do this", Hint: "see whether the application's owner has to verify something at discord.com/developers"},
	{On: "40005", Class: channel.Permanent, Code: "file_too_large", Words: "Discord takes no file of this size here", Hint: "send a smaller file"},
	{On: "30015", Class: channel.Permanent, Code: "too_many_files", Words: "Discord takes up to 10 files in a message", Hint: "send fewer at once"},
	{On: "50007", Class: channel.Permanent, Code: "not_a_member", Words: "the person takes no direct messages of the bot", Hint: "the person allows them in the privacy settings of a server that the bot is on, or unblocks the bot"},
	{On: "50005|50021|50068", Class: channel.Permanent, Code: "not_your_message", Words: "Discord does not let the bot change this message", Hint: "only messages that the bot itself sent can be changed"},
	{On: "50162", Class: channel.Permanent, Code: "not_supported", Words: "Discord lets nobody change a voice message", Hint: "unsend it and send another one"},
	{On: "30010|90001", Class: channel.Permanent, Code: "not_allowed", Words: "Discord takes no such reaction to this message", Hint: "do without the reaction"},
	{On: "20016|20022|20028|40004|130000", Code: "rate_limited", Words: "Discord takes nothing in this channel at the moment", Hint: channel.Again},
	{On: "50083", Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is archived", Form: channel.FormThread},
	{On: "160005", Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is locked", Form: channel.FormThread},
	{On: "160002", Class: channel.Permanent, Code: "not_allowed", Words: "the bot may not read what it answers", Hint: "in Discord, give its role Read Message History there", Form: channel.FormReply},
	{On: "50159|50160|50161|50173", Class: channel.Permanent, Code: "kind_refused", Words: "Discord takes no voice message of the bot's there", Form: channel.FormKind},
	{On: `"message_reference"`, Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is gone", Form: channel.FormReply},
	{On: "401", Class: channel.Held, Code: "discord_token_refused", Words: "Discord does not accept the bot's token", Hint: "make a new token under Bot of the application at discord.com/developers, and put it in place"},
	{On: "403", Class: channel.Held, Code: "discord_forbidden", Hint: "give the bot's role the rights that docs/discord.md names"},
	{On: "404", Class: channel.Permanent, Code: "unknown_chat"},
}

// threadGone returns the error of a thread that the chat does not have.
func threadGone() error {
	return channel.Row{Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is gone", Form: channel.FormThread}.Error(nil)
}
