package slack

import (
	"errors"
	"slices"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// refusal is what Slack's word for an error means.
type refusal struct {
	said  []string // Slack's words
	class channel.Class
	code  string
	words string
	hint  string
}

// refusals are the errors in docs.slack.dev of the methods used here that mean more than a refused
// message. A word counts only as a whole.
var refusals = []refusal{
	{said: []string{"invalid_auth", "not_authed", "not_allowed_token_type"}, class: channel.Held, code: "slack_token_refused",
		words: "Slack does not accept the host's token", hint: "longshore pair slack says which token, and where to get it"},
	{said: []string{"token_revoked", "token_expired", "account_inactive", "team_access_not_granted"}, class: channel.Held, code: "slack_token_revoked",
		words: "the host's token was revoked, or the app was removed from the workspace", hint: "install the app again and put its new token in place: longshore pair slack"},
	{said: []string{"missing_scope", "no_permission"}, class: channel.Held, code: "slack_scope_missing",
		words: "the Slack app lacks a permission", hint: "longshore pair slack says which scope, and how to add it"},
	{said: []string{"link_disabled", "invalid_app"}, class: channel.Held, code: "slack_socket_off",
		words: "Socket Mode is off for the app", hint: "turn it on under Socket Mode of the app at api.slack.com/apps"},
	{said: []string{"ekm_access_denied", "access_denied", "accesslimited", "org_login_required"}, class: channel.Held, code: "slack_suspended",
		words: "the workspace does not let the app write at the moment", hint: "ask an admin of the workspace"},
	{said: []string{"file_uploads_disabled", "file_uploads_except_images_disabled"}, class: channel.Permanent, code: "uploads_disabled",
		words: "the Slack workspace takes no such files", hint: "an admin allows them in the workspace's settings, Permissions, File Uploading"},
	{said: []string{"file_type_not_allowed"}, class: channel.Permanent, code: "type_not_allowed",
		words: "the Slack workspace takes no files of this type", hint: "send it as another type, or ask an admin of the workspace"},
	{said: []string{"file_upload_size_restricted", "upload_too_large", "file_too_large"}, class: channel.Permanent, code: "file_too_large",
		words: "Slack takes no file of this size here", hint: "send a smaller file"},
	{said: []string{"is_archived", "is_inactive"}, class: channel.Permanent, code: "chat_archived",
		words: "the Slack channel is archived", hint: "somebody unarchives it in Slack"},
	{said: []string{"not_in_channel"}, class: channel.Permanent, code: "not_a_member",
		words: "the Slack app is not in the channel", hint: "a member invites it in Slack: /invite and the app's name"},
	{said: []string{"channel_not_found", "cant_broadcast_message", "user_not_found", "messages_tab_disabled"}, class: channel.Permanent, code: "unknown_chat",
		words: "Slack knows no such chat, or the app is not in it", hint: "a member invites the app; longshore groups list --channel NAME lists the chats that it is in"},
	{said: []string{"restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel", "slack_connect_file_upload_sharing_blocked", "posting_to_general_channel_denied"},
		class: channel.Permanent, code: "not_allowed", words: "the app may not write so in this Slack channel", hint: "an admin of the workspace allows it"},
	{said: []string{"msg_too_long", "msg_blocks_too_long"}, class: channel.Permanent, code: "text_too_long",
		words: "the text is too long for Slack", hint: "split the text, or send it as a file"},
	{said: []string{"bad_timestamp"}, class: channel.Permanent, code: "unknown_message",
		words: "Slack does not have the message any more", hint: "send another message"},
	{said: []string{"edit_window_closed"}, class: channel.Permanent, code: "too_late",
		words: "the Slack workspace does not let messages be edited after so long", hint: "send another message"},
	{said: []string{"cant_update_message", "cant_delete_message"}, class: channel.Permanent, code: "not_your_message",
		words: "Slack does not let the app change this message", hint: "only messages that the app itself posted can be changed"},
	{said: []string{"compliance_exports_prevent_deletion", "cant_delete_file", "file_deleting_disabled", "delete_not_allowed"}, class: channel.Permanent, code: "not_allowed",
		words: "the Slack workspace does not let the app delete this", hint: "a member or an admin of the workspace can delete it"},
	{said: []string{"thread_locked", "too_many_emoji", "too_many_reactions", "not_reactable"}, class: channel.Permanent, code: "not_allowed",
		words: "Slack takes no more reactions to this message", hint: "do without the reaction"},
	{said: []string{"invalid_name"}, class: channel.Permanent, code: "unknown_emoji", words: "Slack has no such emoji", hint: "react with another emoji"},
	{said: []string{"ratelimited", "rate_limited", "message_limit_exceeded"}, code: "rate_limited", words: "Slack takes nothing at the moment", hint: channel.Again},
	{said: []string{"request_timeout", "service_unavailable", "team_added_to_org", "upgrade_required", "too_many_websockets"},
		code: "not_connected", words: "Slack is not ready", hint: channel.Again},
	{said: []string{"internal_error", "fatal_error", "update_failed", "" /* not Slack's answer */}, class: channel.Ambiguous, code: "no_answer", words: "Slack failed and may have taken the message"},
}

// forms are the words of chat.postMessage and files.completeUploadExternal that refuse a form. They
// come before the refusals.
var forms = []channel.Row{
	{On: "thread_not_found", Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is gone", Form: channel.FormThread},
	{On: "invalid_thread_ts", Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is gone", Form: channel.FormThread},
	{On: "cannot_reply_to_message", Class: channel.Permanent, Code: "unknown_thread", Words: "the message takes no thread", Form: channel.FormThread},
	{On: "restricted_action_thread_locked", Class: channel.Permanent, Code: "not_allowed", Words: "the thread is locked", Form: channel.FormThread},
	{On: "restricted_action_non_threadable_channel", Class: channel.Permanent, Code: "not_allowed", Words: "the Slack channel has no threads", Form: channel.FormThread},
	{On: "message_not_found", Class: channel.Permanent, Code: "unknown_message", Words: "Slack does not have the message any more", Hint: "send another message", Form: channel.FormThread},
}

// formGone returns the error of a thread or an answer that the chat cannot have.
func formGone(form channel.Form, words string) error {
	return channel.Row{Class: channel.Permanent, Code: "unknown_message", Words: words, Form: form}.Error(nil)
}

// word is Slack's word for an error, as the cause of a *channel.Error.
type word string

func (w word) Error() string { return "Slack says " + string(w) }

// refused returns the error for Slack's word, which is foreign. needed is the missing scope, if
// Slack names one.
func refused(said, needed string) error {
	said = media.Cut(media.Printable(said), 80)
	if row, is := channel.RowOf(forms, said); is {
		return row.Error(word(said))
	}
	r := refusal{class: channel.Permanent, code: "message_refused", words: "Slack refused the message (" + said + ")"}
	if i := slices.IndexFunc(refusals, func(r refusal) bool { return slices.Contains(r.said, said) }); i >= 0 {
		r = refusals[i]
	}
	if needed = media.Cut(media.Printable(needed), 80); needed != "" {
		r.words += ": " + needed
	}
	return &channel.Error{Class: r.class, Code: r.code, Message: r.words, Hint: r.hint, Err: word(said)}
}

// says reports whether Slack's word for an error is one of these.
func says(err error, words ...string) bool {
	var said word
	return errors.As(err, &said) && slices.Contains(words, string(said))
}

// trouble is what somebody has to fix in Slack.
type trouble struct {
	text  string
	files bool // it is about files alone
}

// note records for the status what somebody has to fix, until a message of the same kind, with
// files or without, is sent. It returns err.
func (s *Slack) note(m channel.Message, err error) error {
	now, before := trouble{files: len(m.Files) > 0}, s.trouble.Load()
	var e *channel.Error
	switch {
	case err == nil && before != nil && before.files == now.files:
		s.trouble.Store(nil)
	case errors.As(err, &e) && (e.Class == channel.Held || e.Code == "uploads_disabled"):
		now.text = e.Message + ": " + e.Hint
		s.trouble.Store(&now)
		if before == nil || *before != now {
			s.Log.Warn("Slack refuses something that somebody can allow", "reason", e.Code, "remedy", e.Hint)
		}
	}
	return err
}
