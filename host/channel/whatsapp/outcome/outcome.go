// Package outcome classifies how a message to WhatsApp ended: each error of the library or
// of WhatsApp's servers becomes a [channel.Error].
package outcome

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
)

// Platform is WhatsApp's name, for people.
const Platform = "WhatsApp"

// The errors with which WhatsApp answers a message. Most numbers follow HTTP; 463
// and 479 are WhatsApp's own (tulir/whatsmeow's issues and changelogs).
const (
	ackForbidden   = 403
	ackNotFound    = 404
	ackRateLimit   = 429
	ackMalformed   = 479 // "smax-invalid": a stanza it does not understand
	ackRestricted  = 463 // the account may not open a conversation with this person
	ackServerError = 500 // and above
)

// forms are the numbers that refuse a form: of a stanza that WhatsApp does not understand it
// takes nothing, and may understand a simpler one.
var forms = []channel.Row{{On: strconv.Itoa(ackMalformed), Class: channel.Permanent, Code: "message_refused", Words: "WhatsApp does not understand the message (479)",
	Hint: "ask the operator to update the host", Form: channel.FormKind}}

var ackCode = regexp.MustCompile(`server returned error (\d+)`)

// Of classifies the error of the library's SendMessage. If the frame may have
// left, the outcome is ambiguous. Only the form of the error shows that: an error
// that the library wraps happened before the frame was written, except for an
// error of the write itself.
func Of(err error) error {
	var lost *whatsmeow.DisconnectedError
	switch {
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrNotInGroup):
		return NotAMember(err)
	case errors.Is(err, whatsmeow.ErrServerReturnedError):
		return refused(err)
	case errors.Is(err, whatsmeow.ErrNotLoggedIn):
		return &channel.Error{Class: channel.Held, Code: "whatsapp_not_paired", Message: "no WhatsApp account is linked",
			Hint: "`longshore status` says how to link one", Err: err}
	case errors.Is(err, whatsmeow.ErrUnknownServer), errors.Is(err, whatsmeow.ErrRecipientADJID):
		return UnknownChat(err)
	case errors.Is(err, whatsmeow.ErrMessageTimedOut):
		return noAnswer(err)
	case errors.As(err, &lost) && !strings.HasPrefix(lost.Action, "info query"):
		return noAnswer(err)
	case errors.Is(err, whatsmeow.ErrNotConnected) && err != whatsmeow.ErrNotConnected: //nolint:errorlint // not wrapped: the frame was written once already
		return NotConnected(err)
	case strings.HasPrefix(err.Error(), "failed to send message node"):
		return noAnswer(err)
	case strings.HasPrefix(err.Error(), "failed to"), errors.Is(err, whatsmeow.ErrNoSession), strings.HasPrefix(err.Error(), "cipher encryption failed"):
		return Passing("whatsapp_not_ready", "WhatsApp did not say whom the message has to be encrypted for", err)
	}
	return noAnswer(err)
}

// Passing returns an error after which the host tries again.
func Passing(code, message string, err error) *channel.Error {
	return &channel.Error{Class: channel.Passing, Code: code, Message: message, Hint: channel.Again, Err: err}
}

// TooSoon is the error of our own rate limit, not of WhatsApp's.
func TooSoon(wait time.Duration) error {
	return &channel.Error{Class: channel.Passing, Code: "rate_limited", RetryAfter: wait,
		Message: "messages go to WhatsApp slowly, to keep the account from being banned", Hint: "it is sent by itself as soon as the rate allows"}
}

// StoreFailed is the error of a message that the host's store could not read or record; what
// the host cannot do follows "the host cannot".
func StoreFailed(what string, err error) error {
	return Passing("store_failed", "the host cannot "+what, err)
}

// NotConnected is the error of a message that waits for the connection.
func NotConnected(err error) error {
	return link.Lost(Platform, err)
}

// noAnswer is ambiguous, and wraps err so that the caller recognizes the end of
// its own context.
func noAnswer(err error) error {
	return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "WhatsApp did not say whether it took the message",
		Hint: "it is tried again by itself under the same id, which the members' apps show once", Err: err}
}

// NotAMember is the error of a group that the account has left, or never joined.
func NotAMember(err error) error {
	return &channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "the WhatsApp account is no member of this chat",
		Hint: "ask the operator to add the account to the group, or to look at the chat's id with `longshore groups list --channel whatsapp`", Err: err}
}

// UnknownChat is the error of a JID that is no chat of WhatsApp.
func UnknownChat(err error) error {
	return &channel.Error{Class: channel.Permanent, Code: "unknown_chat", Message: "this is no chat of WhatsApp",
		Hint: "use the chat of a registered group", Err: err}
}

// ReplyTooOld is the error of a reply to a message that is no longer recorded; the message can go without the reply.
func ReplyTooOld() error {
	return channel.Row{Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is too old to be known", Form: channel.FormReply}.Error(nil)
}

// AdminsOnly is the error of a group in which the account may not write.
func AdminsOnly() error {
	return &channel.Error{Class: channel.Permanent, Code: "admins_only", Message: "only admins may write in this WhatsApp group",
		Hint: "ask an admin of the group to make the account an admin, or to let all members write"}
}

// NotOnWhatsApp is the error of a number without a WhatsApp account.
func NotOnWhatsApp() error {
	return &channel.Error{Class: channel.Permanent, Code: "not_on_whatsapp", Message: "nobody is on WhatsApp under this number",
		Hint: "check the number: country code first, digits only"}
}

// refused classifies an acknowledgement with an error: WhatsApp did not take the
// message.
func refused(err error) error {
	code := 0
	if m := ackCode.FindStringSubmatch(err.Error()); m != nil {
		code, _ = strconv.Atoi(m[1])
	}
	switch {
	case code == ackRestricted:
		return &channel.Error{Class: channel.Permanent, Code: "account_restricted",
			Message: "WhatsApp does not let the account write to this person (463)",
			Hint:    "let the person write to the account first; repeating it may get the account banned", Err: err}
	case code == ackForbidden, code == ackNotFound:
		return NotAMember(err)
	case code == ackRateLimit:
		e := Passing("rate_limited", "WhatsApp takes no more messages for a while", err)
		e.RetryAfter = time.Minute
		return e
	case code >= ackServerError:
		return Passing("server_error", fmt.Sprintf("WhatsApp has a problem of its own (%d)", code), err)
	}
	if row, is := channel.RowOf(forms, "", code); is {
		return row.Error(err)
	}
	return &channel.Error{Class: channel.Permanent, Code: "message_refused", Message: fmt.Sprintf("WhatsApp refused the message (%d)", code),
		Hint: "ask the operator to look at the host's log", Err: err}
}

// Cancelled is the error of a caller that stops before the library had the message.
func Cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return Passing("cancelled", "it was not sent in the time there was", context.Cause(ctx))
}

// NotReady is the error of a question that WhatsApp did not answer. It passes.
func NotReady(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Cancelled(ctx)
	}
	if errors.Is(err, whatsmeow.ErrNotConnected) {
		return NotConnected(err)
	}
	return Passing("whatsapp_not_ready", "WhatsApp did not answer a question about the chat", err)
}

// UnknownMessage is the error of a change of a message that is no longer recorded.
func UnknownMessage() error {
	return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "the host does not know that message any more", Hint: "send a new message instead"}
}
