package discord

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

const again = "it is tried again by itself"

// refusal is what Discord's number of an error means.
type refusal struct {
	codes []int
	class channel.Class
	code  string
	words string
	hint  string
}

// known are the errors of discord.com/developers/docs/topics/opcodes-and-status-codes
// that mean more than that a request is refused.
var known = []refusal{
	{codes: []int{10003, 10004}, class: channel.Permanent, code: "unknown_chat",
		words: "Discord knows no such chat", hint: "ask the operator whether the chat in the group is right"},
	{codes: []int{10008}, class: channel.Permanent, code: "unknown_message",
		words: "Discord does not have the message any more", hint: "send another message"},
	{codes: []int{10014}, class: channel.Permanent, code: "unknown_emoji", words: "Discord has no such emoji", hint: "react with another emoji"},
	{codes: []int{50001}, class: channel.Held, code: "discord_no_access",
		words: "the bot cannot see the Discord channel", hint: "in Discord, give its role the right View Channel there, or invite it again"},
	{codes: []int{50013}, class: channel.Held, code: "discord_right_missing",
		words: "the bot lacks a right in the Discord channel", hint: "in Discord, give its role Send Messages, Send Messages in Threads, Attach Files, Add Reactions and Read Message History there"},
	{codes: []int{40001, 40002, 20001}, class: channel.Held, code: "discord_not_allowed",
		words: "Discord does not let the bot do this", hint: "see whether the application's owner has to verify something at discord.com/developers"},
	{codes: []int{40005}, class: channel.Permanent, code: "file_too_large", words: "Discord takes no file of this size here", hint: "send a smaller file"},
	{codes: []int{30015}, class: channel.Permanent, code: "too_many_files", words: "Discord takes up to 10 files in a message", hint: "send fewer at once"},
	{codes: []int{50007}, class: channel.Permanent, code: "not_a_member",
		words: "the person takes no direct messages of the bot", hint: "the person allows them in the privacy settings of a server that the bot is on, or unblocks the bot"},
	{codes: []int{50005, 50021, 50068}, class: channel.Permanent, code: "not_your_message",
		words: "Discord does not let the bot change this message", hint: "only messages that the bot itself sent can be changed"},
	{codes: []int{50162}, class: channel.Permanent, code: "not_supported", words: "Discord lets nobody change a voice message", hint: "unsend it and send another one"},
	{codes: []int{30010, 90001}, class: channel.Permanent, code: "not_allowed", words: "Discord takes no such reaction to this message", hint: "do without the reaction"},
	{codes: []int{20016, 20022, 20028, 40004, 130000}, code: "rate_limited", words: "Discord takes nothing in this channel at the moment", hint: again},
}

// threadGone are Discord's numbers for a thread that takes no message.
var threadGone = []int{10003, 50083, 160005}

// number is Discord's number of an error, as the cause of a *channel.Error.
type number struct {
	code int
	said string // foreign, printable
}

func (n number) Error() string { return fmt.Sprintf("Discord says %d %q", n.code, n.said) }

// says tells whether Discord's number was one of those.
func says(err error, codes ...int) bool {
	var n number
	return errors.As(err, &n) && slices.Contains(codes, n.code)
}

// refused is the error for an answer that is not 2xx.
func refused(a *transfer.Answer) error {
	var said struct {
		Code       int     `json:"code"`
		Message    string  `json:"message"`
		RetryAfter float64 `json:"retry_after"`
	}
	_ = json.Unmarshal(a.Body, &said, lenient) // what is not JSON is not Discord's own
	cause := number{said.Code, media.Cut(media.Printable(said.Message), 120)}
	wait := cmp.Or(seconds(fmt.Sprint(said.RetryAfter)), seconds(a.Header.Get("Retry-After")))
	r := refusal{class: channel.Permanent, code: "message_refused", words: fmt.Sprintf("Discord refused this (%d, %d %s)", a.Status, cause.code, cause.said)}
	i := slices.IndexFunc(known, func(r refusal) bool { return slices.Contains(r.codes, said.Code) })
	switch {
	case a.Status == http.StatusTooManyRequests:
		return slow(wait)
	case a.Status == http.StatusUnauthorized:
		r = refusal{class: channel.Held, code: "discord_token_refused", words: "Discord does not accept the bot's token",
			hint: "make a new token under Bot of the application at discord.com/developers, and put it in place"}
	case i >= 0:
		r = known[i]
	case a.Status == http.StatusForbidden:
		r.class, r.code, r.hint = channel.Held, "discord_forbidden", "see what the bot's role may do in Discord, and longshore doctor"
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusServiceUnavailable:
		r = refusal{code: "not_connected", words: "Discord is not ready", hint: again}
	case a.Status/100 == 5:
		r = refusal{class: channel.Ambiguous, code: "no_answer", words: "Discord failed and may have done it"}
	case a.Status == http.StatusNotFound:
		r.code = "unknown_chat"
	case a.Status == http.StatusRequestEntityTooLarge:
		r.code, r.words, r.hint = "file_too_large", "Discord takes no file of this size here", "send a smaller file"
	}
	return &channel.Error{Class: r.class, Code: r.code, Message: r.words, Hint: r.hint, RetryAfter: wait, Err: cause}
}

// longestWait is how long Discord's wish to wait is believed.
const longestWait = time.Hour

// slow is the error while Discord, or our own rate, wants us to wait.
func slow(wait time.Duration) error {
	return &channel.Error{Code: "rate_limited", Message: "Discord takes only so many messages at once", Hint: again, RetryAfter: min(max(wait, 0), longestWait)}
}

// stopped is the error as a *link.Stop, if somebody has to act.
func stopped(err error) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Held {
		return err
	}
	return &link.Stop{Code: e.Code, Message: e.Message, Hint: e.Hint, Detail: strings.TrimPrefix(fmt.Sprint(e.Err), "<nil>"), Wait: link.After(time.Minute)}
}

// refusals are the held errors of chats. A chat that has one is left alone for a
// while, since Discord blocks bots that go on asking. The zero refusals is ready.
type refusals struct {
	mu   sync.Mutex
	by   map[groups.JID]held
	last string // of the status; empty: nothing has to be seen to
}

type held struct {
	err   error
	until time.Time
}

const restFor = 5 * time.Minute

// of is why a chat is left alone; nil if it is not.
func (r *refusals) of(chat groups.JID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.by[chat]; time.Now().Before(h.until) {
		return h.err
	}
	return nil
}

// note remembers what became of a message, and returns its error.
func (r *refusals) note(chat groups.JID, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e *channel.Error
	switch {
	case err == nil && r.by[chat].err != nil:
		delete(r.by, chat)
		r.last = ""
	case errors.As(err, &e) && e.Class == channel.Held && e.Code != "discord_paused":
		if r.by == nil {
			r.by = map[groups.JID]held{}
		}
		r.by[chat] = held{err, time.Now().Add(restFor)}
		r.last = string(chat) + ": " + e.Message + ": " + e.Hint
	}
	return err
}

// forget has all chats asked again.
func (r *refusals) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by = nil
}

func (r *refusals) latest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
