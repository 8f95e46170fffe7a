package slack

import (
	"errors"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// refusals are the errors in docs.slack.dev of the methods used here that mean more than a refused
// message: first those of chat.postMessage and files.completeUploadExternal that refuse a form. The
// empty word is not Slack's answer.
var refusals = []channel.Row{
	{On: "thread_not_found|invalid_thread_ts", Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is gone", Form: channel.FormThread},
	{On: "cannot_reply_to_message", Class: channel.Permanent, Code: "unknown_thread", Words: "the message takes no thread", Form: channel.FormThread},
	{On: "restricted_action_thread_locked", Class: channel.Permanent, Code: "not_allowed", Words: "the thread is locked", Form: channel.FormThread},
	{On: "restricted_action_non_threadable_channel", Class: channel.Permanent, Code: "not_allowed", Words: "the Slack channel has no threads", Form: channel.FormThread},
	{On: "message_not_found", Class: channel.Permanent, Code: "unknown_message", Words: "Slack does not have the message any more", Hint: "send another message", Form: channel.FormThread},
	{On: "invalid_auth|not_authed|not_allowed_token_type", Class: channel.Held, Code: "slack_token_refused", Words: "Slack does not accept the host's token", Hint: "put a valid one in place: the bot token, xoxb-…, is under OAuth & Permissions of the app at api.slack.com/apps, the app-level token, xapp-…, under Basic Information"},
	{On: "token_revoked|token_expired|account_inactive|team_access_not_granted", Class: channel.Held, Code: "slack_token_revoked", Words: "the host's token was revoked, or the app was removed from the workspace", Hint: "install the app again with Reinstall to Workspace, under OAuth & Permissions of the app at api.slack.com/apps, and put its new bot token, xoxb-…, in place"},
	{On: "missing_scope|no_permission", Class: channel.Held, Code: "slack_scope_missing", Words: "the Slack app lacks a permission", Hint: addScope},
	{On: "link_disabled|invalid_app", Class: channel.Held, Code: "slack_socket_off", Words: "Socket Mode is off for the app", Hint: "turn it on under Socket Mode of the app at api.slack.com/apps"},
	{On: "ekm_access_denied|access_denied|accesslimited|org_login_required", Class: channel.Held, Code: "slack_suspended", Words: "the workspace does not let the app write at the moment", Hint: "ask an admin of the workspace"},
	{On: "file_uploads_disabled|file_uploads_except_images_disabled", Class: channel.Permanent, Code: "uploads_disabled", Words: "the Slack workspace takes no such files", Hint: "an admin allows them in the workspace's settings, Permissions, File Uploading"},
	{On: "file_type_not_allowed", Class: channel.Permanent, Code: "type_not_allowed", Words: "the Slack workspace takes no files of this type", Hint: "send it as another type, or ask an admin of the workspace"},
	{On: "file_upload_size_restricted|upload_too_large|file_too_large", Class: channel.Permanent, Code: "file_too_large", Words: "Slack takes no file of this size here", Hint: "send a smaller file"},
	{On: "is_archived|is_inactive", Class: channel.Permanent, Code: "chat_archived", Words: "the Slack channel is archived", Hint: "somebody unarchives it in Slack"},
	{On: "not_in_channel", Class: channel.Permanent, Code: "not_a_member", Words: "the Slack app is not in the channel", Hint: "a member invites it in Slack: /invite and the app's name"},
	{On: "channel_not_found|cant_broadcast_message|user_not_found|messages_tab_disabled", Class: channel.Permanent, Code: "unknown_chat", Words: "Slack knows no such chat, or the app is not in it", Hint: "a member invites the app; longshore groups list --channel NAME lists the chats that it is in"},
	{On: "restricted_action|restricted_action_read_only_channel|restricted_action_thread_only_channel|slack_connect_file_upload_sharing_blocked|posting_to_general_channel_denied", Class: channel.Permanent, Code: "not_allowed", Words: "the app may not write so in this Slack channel", Hint: "an admin of the workspace allows it"},
	{On: "msg_too_long|msg_blocks_too_long", Class: channel.Permanent, Code: "text_too_long", Words: "the text is too long for Slack", Hint: "split the text, or send it as a file"},
	{On: "bad_timestamp", Class: channel.Permanent, Code: "unknown_message", Words: "Slack does not have the message any more", Hint: "send another message"},
	{On: "edit_window_closed", Class: channel.Permanent, Code: "too_late", Words: "the Slack workspace does not let messages be edited after so long", Hint: "send another message"},
	{On: "cant_update_message|cant_delete_message", Class: channel.Permanent, Code: "not_your_message", Words: "Slack does not let the app change this message", Hint: "only messages that the app itself posted can be changed"},
	{On: "compliance_exports_prevent_deletion|cant_delete_file|file_deleting_disabled|delete_not_allowed", Class: channel.Permanent, Code: "not_allowed", Words: "the Slack workspace does not let the app delete this", Hint: "a member or an admin of the workspace can delete it"},
	{On: "thread_locked|too_many_emoji|too_many_reactions|not_reactable", Class: channel.Permanent, Code: "not_allowed", Words: "Slack takes no more reactions to this message", Hint: "do without the reaction"},
	{On: "invalid_name", Class: channel.Permanent, Code: "unknown_emoji", Words: "Slack has no such emoji", Hint: "react with another emoji"},
	{On: "ratelimited|rate_limited|message_limit_exceeded", Code: "rate_limited", Words: "Slack takes nothing at the moment", Hint: channel.Again},
	{On: "request_timeout|service_unavailable|team_added_to_org|upgrade_required|too_many_websockets", Code: "not_connected", Words: "Slack is not ready", Hint: channel.Again},
	{On: "internal_error|fatal_error|update_failed|", Class: channel.Ambiguous, Code: "no_answer", Words: "Slack failed and may have taken the message"},
}

// addScope says how to add a scope.
const addScope = "add it under OAuth & Permissions, Bot Token Scopes, and click Reinstall to Workspace; connections:write is the app-level token's, under Basic Information"

// formGone returns the error of a thread or an answer that the chat cannot have.
func formGone(form channel.Form, words string) error {
	return channel.Row{Class: channel.Permanent, Code: "unknown_message", Words: words, Form: form}.Error(nil)
}

// note records for the status what somebody has to fix, until a message of the same kind, with
// files or without, is sent. It returns err.
func (s *Slack) note(m channel.Message, err error) error {
	kind := groups.JID("texts")
	if len(m.Files) > 0 {
		kind = "files"
	}
	e, ok := errors.AsType[*channel.Error](err)
	if err == nil {
		s.Barred.Free(kind)
	} else if ok && (e.Class == channel.Held || e.Code == "uploads_disabled") && s.Barred.Bar(kind, err) {
		s.Log.Warn("Slack refuses something that somebody can allow", "reason", e.Code, "remedy", e.Hint)
	}
	return err
}
