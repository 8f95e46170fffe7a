package whatsapp

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
var forms = []channel.Row{{Status: ackMalformed, Class: channel.Permanent, Code: "message_refused", Words: "WhatsApp does not understand the message (479)",
	Hint: "ask the operator to update the host", Form: channel.FormKind}}

var ackCode = regexp.MustCompile(`server returned error (\d+)`)

// verdict classifies the error of the library's SendMessage. If the frame may have
// left, the outcome is ambiguous. Only the form of the error shows that: an error
// that the library wraps happened before the frame was written, except for an
// error of the write itself.
func verdict(err error) error {
	var lost *whatsmeow.DisconnectedError
	switch {
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrNotInGroup):
		return notAMember(err)
	case errors.Is(err, whatsmeow.ErrServerReturnedError):
		return rejected(err)
	case errors.Is(err, whatsmeow.ErrNotLoggedIn):
		return &channel.Error{Class: channel.Held, Code: "whatsapp_not_paired", Message: "no WhatsApp account is linked",
			Hint: "`longshore status` says how to link one", Err: err}
	case errors.Is(err, whatsmeow.ErrUnknownServer), errors.Is(err, whatsmeow.ErrRecipientADJID):
		return unknownChat(err)
	case errors.Is(err, whatsmeow.ErrMessageTimedOut):
		return unanswered(err)
	case errors.As(err, &lost) && !strings.HasPrefix(lost.Action, "info query"):
		return unanswered(err)
	case errors.Is(err, whatsmeow.ErrNotConnected) && err != whatsmeow.ErrNotConnected: //nolint:errorlint // not wrapped: the frame was written once already
		return notConnected(err)
	case strings.HasPrefix(err.Error(), "failed to send message node"):
		return unanswered(err)
	case strings.HasPrefix(err.Error(), "failed to"), errors.Is(err, whatsmeow.ErrNoSession), strings.HasPrefix(err.Error(), "cipher encryption failed"):
		return passing("whatsapp_not_ready", "WhatsApp did not say whom the message has to be encrypted for", err)
	}
	return unanswered(err)
}

func passing(code, message string, err error) *channel.Error {
	return &channel.Error{Class: channel.Passing, Code: code, Message: message, Hint: "it is tried again by itself", Err: err}
}

// tooSoon is the error of our own rate limit, not of WhatsApp's.
func tooSoon(wait time.Duration) error {
	return &channel.Error{Class: channel.Passing, Code: "rate_limited", RetryAfter: wait,
		Message: "messages go to WhatsApp slowly, to keep the account from being banned", Hint: "it is sent by itself as soon as the rate allows"}
}

func notConnected(err error) error {
	return link.Lost(platformName, err)
}

// unanswered is ambiguous, and wraps err so that the caller recognizes the end of
// its own context.
func unanswered(err error) error {
	return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "WhatsApp did not say whether it took the message",
		Hint: "it is tried again by itself under the same id, which the members' apps show once", Err: err}
}

func notAMember(err error) error {
	return &channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "the WhatsApp account is no member of this chat",
		Hint: "ask the operator to add the account to the group, or to look at the chat's id with `longshore groups list --channel whatsapp`", Err: err}
}

func unknownChat(err error) error {
	return &channel.Error{Class: channel.Permanent, Code: "unknown_chat", Message: "this is no chat of WhatsApp",
		Hint: "use the chat of a registered group", Err: err}
}

func replyGone() error {
	return channel.Row{Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is too old to be known", Form: channel.FormReply}.Error(nil)
}

func adminsOnly() error {
	return &channel.Error{Class: channel.Permanent, Code: "admins_only", Message: "only admins may write in this WhatsApp group",
		Hint: "ask an admin of the group to make the account an admin, or to let all members write"}
}

func notOnWhatsApp() error {
	return &channel.Error{Class: channel.Permanent, Code: "not_on_whatsapp", Message: "nobody is on WhatsApp under this number",
		Hint: "check the number: country code first, digits only"}
}

// rejected classifies an acknowledgement with an error: WhatsApp did not take the
// message.
func rejected(err error) error {
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
		return notAMember(err)
	case code == ackRateLimit:
		e := passing("rate_limited", "WhatsApp takes no more messages for a while", err)
		e.RetryAfter = time.Minute
		return e
	case code >= ackServerError:
		return passing("server_error", fmt.Sprintf("WhatsApp has a problem of its own (%d)", code), err)
	}
	if row, is := channel.RowOf(forms, code, ""); is {
		return row.Error(err)
	}
	return &channel.Error{Class: channel.Permanent, Code: "message_refused", Message: fmt.Sprintf("WhatsApp refused the message (%d)", code),
		Hint: "ask the operator to look at the host's log", Err: err}
}

// cancelled is the error of a caller that stops before the library had the message.
func cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return passing("cancelled", "it was not sent in the time there was", context.Cause(ctx))
}
