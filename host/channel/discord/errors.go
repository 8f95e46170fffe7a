package discord

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// known are the errors of discord.com/developers/docs/topics/opcodes-and-status-codes
// that mean more than that a request is refused.
var known = []channel.Row{
	{Status: 10003, Class: channel.Permanent, Code: "unknown_chat", Words: "Discord knows no such chat or thread", Hint: "ask the operator whether the chat in the group is right", Form: channel.FormThread},
	{Status: 10004, Class: channel.Permanent, Code: "unknown_chat", Words: "Discord knows no such chat or thread", Hint: "ask the operator whether the chat in the group is right"},
	{Status: 10008, Class: channel.Permanent, Code: "unknown_message", Words: "Discord does not have the message any more", Hint: "send another message", Form: channel.FormReply},
	{Status: 10014, Class: channel.Permanent, Code: "unknown_emoji", Words: "Discord has no such emoji", Hint: "react with another emoji"},
	{Status: 50001, Class: channel.Held, Code: "discord_no_access", Words: "the bot cannot see the Discord channel", Hint: "in Discord, give its role the right View Channel there, or invite it again"},
	{Status: 50013, Class: channel.Held, Code: "discord_right_missing", Words: "the bot lacks a right in the Discord channel", Hint: "in Discord, give its role Send Messages, Send Messages in Threads, Attach Files, Add Reactions and Read Message History there"},
	{Status: 40001, Class: channel.Held, Code: "discord_not_allowed", Words: "Discord does not let the bot do this", Hint: "see whether the application's owner has to verify something at discord.com/developers"},
	{Status: 40002, Class: channel.Held, Code: "discord_not_allowed", Words: "Discord does not let the bot do this", Hint: "see whether the application's owner has to verify something at discord.com/developers"},
	{Status: 20001, Class: channel.Held, Code: "discord_not_allowed", Words: "Discord does not let the bot do this", Hint: "see whether the application's owner has to verify something at discord.com/developers"},
	{Status: 40005, Class: channel.Permanent, Code: "file_too_large", Words: "Discord takes no file of this size here", Hint: "send a smaller file"},
	{Status: 30015, Class: channel.Permanent, Code: "too_many_files", Words: "Discord takes up to 10 files in a message", Hint: "send fewer at once"},
	{Status: 50007, Class: channel.Permanent, Code: "not_a_member", Words: "the person takes no direct messages of the bot", Hint: "the person allows them in the privacy settings of a server that the bot is on, or unblocks the bot"},
	{Status: 50005, Class: channel.Permanent, Code: "not_your_message", Words: "Discord does not let the bot change this message", Hint: "only messages that the bot itself sent can be changed"},
	{Status: 50021, Class: channel.Permanent, Code: "not_your_message", Words: "Discord does not let the bot change this message", Hint: "only messages that the bot itself sent can be changed"},
	{Status: 50068, Class: channel.Permanent, Code: "not_your_message", Words: "Discord does not let the bot change this message", Hint: "only messages that the bot itself sent can be changed"},
	{Status: 50162, Class: channel.Permanent, Code: "not_supported", Words: "Discord lets nobody change a voice message", Hint: "unsend it and send another one"},
	{Status: 30010, Class: channel.Permanent, Code: "not_allowed", Words: "Discord takes no such reaction to this message", Hint: "do without the reaction"},
	{Status: 90001, Class: channel.Permanent, Code: "not_allowed", Words: "Discord takes no such reaction to this message", Hint: "do without the reaction"},
	{Status: 20016, Code: "rate_limited", Words: "Discord takes nothing in this channel at the moment", Hint: channel.Again},
	{Status: 20022, Code: "rate_limited", Words: "Discord takes nothing in this channel at the moment", Hint: channel.Again},
	{Status: 20028, Code: "rate_limited", Words: "Discord takes nothing in this channel at the moment", Hint: channel.Again},
	{Status: 40004, Code: "rate_limited", Words: "Discord takes nothing in this channel at the moment", Hint: channel.Again},
	{Status: 130000, Code: "rate_limited", Words: "Discord takes nothing in this channel at the moment", Hint: channel.Again},

	// forms
	{Status: 50083, Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is archived", Form: channel.FormThread},
	{Status: 160005, Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is locked", Form: channel.FormThread},
	{Status: 160002, Class: channel.Permanent, Code: "not_allowed", Words: "the bot may not read what it answers", Hint: "in Discord, give its role Read Message History there", Form: channel.FormReply},
	{Status: 50035, Said: "\"message_reference\"", Class: channel.Permanent, Code: "unknown_message", Words: "the message that it answers is gone", Form: channel.FormReply},
	{Status: 50159, Class: channel.Permanent, Code: "kind_refused", Words: noVoice, Form: channel.FormKind},
	{Status: 50160, Class: channel.Permanent, Code: "kind_refused", Words: noVoice, Form: channel.FormKind},
	{Status: 50161, Class: channel.Permanent, Code: "kind_refused", Words: noVoice, Form: channel.FormKind},
	{Status: 50173, Class: channel.Permanent, Code: "kind_refused", Words: noVoice, Form: channel.FormKind},
}

// noVoice is why a voice note goes as a file.
const noVoice = "Discord takes no voice message of the bot's there"

// threadGone returns the error of a thread that the chat does not have.
func threadGone() error {
	return channel.Row{Class: channel.Permanent, Code: "unknown_thread", Words: "the thread is gone", Form: channel.FormThread}.Error(nil)
}

// number is Discord's number of an error, as the cause of a *channel.Error.
type number struct {
	code int
	said string // foreign, printable
}

func (n number) Error() string { return fmt.Sprintf("Discord says %d %q", n.code, n.said) }

// hasCode reports whether Discord gave one of these numbers.
func hasCode(err error, codes ...int) bool {
	var n number
	return errors.As(err, &n) && slices.Contains(codes, n.code)
}

// refused returns the error of an answer that is not 2xx.
func refused(a *transfer.Answer) error {
	var said struct {
		Code       int     `json:"code"`
		Message    string  `json:"message"`
		RetryAfter float64 `json:"retry_after"`
	}
	_ = json.Unmarshal(a.Body, &said, lenient) // what is not JSON is not Discord's own
	cause := number{said.Code, media.Cut(media.Printable(said.Message), 120)}
	wait := cmp.Or(seconds(fmt.Sprint(said.RetryAfter)), seconds(a.Header.Get("Retry-After")))
	r := channel.Row{Class: channel.Permanent, Code: "message_refused", Words: fmt.Sprintf("Discord refused this (%d, %d %s)", a.Status, cause.code, cause.said)}
	row, is := channel.RowOf(known, said.Code, string(a.Body))
	switch {
	case a.Status == http.StatusTooManyRequests:
		return link.Slow(platformName, wait, nil)
	case a.Status == http.StatusUnauthorized:
		r = channel.Row{Class: channel.Held, Code: "discord_token_refused", Words: "Discord does not accept the bot's token",
			Hint: "make a new token under Bot of the application at discord.com/developers, and put it in place"}
	case is:
		r = row
	case a.Status == http.StatusForbidden:
		r.Class, r.Code, r.Hint = channel.Held, "discord_forbidden", "see what the bot's role may do in Discord, and longshore doctor"
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusServiceUnavailable:
		r = channel.Row{Code: "not_connected", Words: "Discord is not ready", Hint: channel.Again}
	case a.Status/100 == 5:
		r = channel.Row{Class: channel.Ambiguous, Code: "no_answer", Words: "Discord failed and may have done it"}
	case a.Status == http.StatusNotFound:
		r.Code = "unknown_chat"
	case a.Status == http.StatusRequestEntityTooLarge:
		r.Code, r.Words, r.Hint = "file_too_large", "Discord takes no file of this size here", "send a smaller file"
	}
	e := r.Error(cause)
	e.RetryAfter = wait
	return e
}

// refusals remembers the Held errors of chats. A chat that has one gets no request for 5 minutes,
// since Discord blocks bots that go on. The zero refusals is ready.
type refusals struct {
	mu    sync.Mutex
	chats map[groups.JID]held
	last  string // of the status; empty: nothing has to be seen to
}

type held struct {
	err   error
	until time.Time
}

const restFor = 5 * time.Minute

// of returns the error for which a chat gets no request now; nil if there is none.
func (r *refusals) of(chat groups.JID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.chats[chat]; time.Now().Before(h.until) {
		return h.err
	}
	return nil
}

// note records the outcome of a request for a chat, and returns its error.
func (r *refusals) note(chat groups.JID, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e *channel.Error
	switch {
	case err == nil && r.chats[chat].err != nil:
		delete(r.chats, chat)
		r.last = ""
	case errors.As(err, &e) && e.Class == channel.Held && e.Code != "discord_paused":
		if r.chats == nil {
			r.chats = map[groups.JID]held{}
		}
		r.chats[chat] = held{err, time.Now().Add(restFor)}
		r.last = string(chat) + ": " + e.Message + ": " + e.Hint
	}
	return err
}

// forget lets all chats be tried again.
func (r *refusals) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chats = nil
}

func (r *refusals) latest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
