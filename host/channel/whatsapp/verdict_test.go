package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"

	"github.com/longshore-bridge/longshore/host/channel"
)

func TestEveryEndOfASendHasItsClass(t *testing.T) {
	ack := func(code int) error { return fmt.Errorf("%w %d", whatsmeow.ErrServerReturnedError, code) }
	for _, tt := range []struct {
		name  string
		err   error
		class channel.Class
		code  string
	}{
		{"disconnected, caches warm", fmt.Errorf("failed to send message node: %w", whatsmeow.ErrNotConnected), channel.Passing, "not_connected"},
		{"disconnected, caches cold", fmt.Errorf("failed to get group members: %w", whatsmeow.ErrNotConnected), channel.Passing, "not_connected"},
		{"a question timed out", fmt.Errorf("failed to get device list: %w", whatsmeow.ErrIQTimedOut), channel.Passing, "whatsapp_not_ready"},
		{"the socket died in a question", fmt.Errorf("failed to get group members: %w", &whatsmeow.DisconnectedError{Action: "info query"}), channel.Passing, "whatsapp_not_ready"},
		{"no keys", fmt.Errorf("%w with 4915:1", whatsmeow.ErrNoSession), channel.Passing, "whatsapp_not_ready"},
		{"no time to encrypt", fmt.Errorf("cipher encryption failed: %w", context.DeadlineExceeded), channel.Passing, "whatsapp_not_ready"},
		{"no such group", fmt.Errorf("failed to get group members: %w", whatsmeow.ErrGroupNotFound), channel.Permanent, "not_a_member"},
		{"no member", fmt.Errorf("failed to get group members: %w", whatsmeow.ErrNotInGroup), channel.Permanent, "not_a_member"},
		{"no account", whatsmeow.ErrNotLoggedIn, channel.Held, "whatsapp_not_paired"},
		{"no answer", whatsmeow.ErrMessageTimedOut, channel.Ambiguous, "no_answer"},
		{"the caller stopped waiting", context.Canceled, channel.Ambiguous, "no_answer"},
		{"the socket died before the answer", &whatsmeow.DisconnectedError{Action: "message send"}, channel.Ambiguous, "no_answer"},
		{"and once more", &whatsmeow.DisconnectedError{Action: "message send (retry)"}, channel.Ambiguous, "no_answer"},
		{"the socket went between frame and repeat", whatsmeow.ErrNotConnected, channel.Ambiguous, "no_answer"},
		{"the write broke off", fmt.Errorf("failed to send message node: %w", errors.New("broken pipe")), channel.Ambiguous, "no_answer"},
		{"something new", errors.New("something new"), channel.Ambiguous, "no_answer"},
		{"refused: restricted", ack(463), channel.Permanent, "account_restricted"},
		{"refused: malformed", ack(479), channel.Permanent, "message_refused"},
		{"refused: not allowed", ack(403), channel.Permanent, "not_a_member"},
		{"refused: unknown", ack(420), channel.Permanent, "message_refused"},
		{"refused: too fast", ack(429), channel.Passing, "rate_limited"},
		{"refused: their trouble", ack(503), channel.Passing, "server_error"},
	} {
		err := verdict(tt.err)
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code || e.Message == "" || e.Hint == "" {
			t.Errorf("%s: %+v, want %v %s", tt.name, err, tt.class, tt.code)
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: the cause is lost", tt.name)
		}
	}
	if wait := channel.RetryAfterOf(verdict(ack(429))); wait < time.Minute {
		t.Errorf("after 429 it waits %v", wait)
	}
}

// TestASendThatIsGivenUpIsTriedAgain: the library had not got the message yet.
func TestASendThatIsGivenUpIsTriedAgain(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	if err := cancelled(ctx); err != nil {
		t.Errorf("before the end: %v", err)
	}
	end()
	var e *channel.Error
	if err := cancelled(ctx); !errors.As(err, &e) || e.Class != channel.Passing || e.Code != "cancelled" || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %+v", err)
	}
}

func TestAnUploadsEndHasItsClass(t *testing.T) {
	cause := errors.New("upload failed with status code N")
	for _, tt := range []struct {
		refused *statusError
		class   channel.Class
		code    string
		wait    time.Duration
	}{
		{nil, channel.Passing, "upload_failed", 0},
		{&statusError{code: 401}, channel.Passing, "upload_failed", 0},
		{&statusError{code: 413}, channel.Permanent, "file_too_large", 0},
		{&statusError{code: 415}, channel.Permanent, "upload_refused", 0},
		{&statusError{code: 429, retryAfter: 40 * time.Second}, channel.Passing, "rate_limited", 40 * time.Second},
		{&statusError{code: 429}, channel.Passing, "rate_limited", 10 * time.Second},
		{&statusError{code: 500}, channel.Passing, "upload_failed", 0},
		{&statusError{code: 507, retryAfter: time.Minute}, channel.Passing, "upload_failed", time.Minute},
	} {
		err := uploadVerdict(cause, tt.refused)
		var e *channel.Error
		if !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%v: %v, want %s", tt.refused, err, tt.code)
		}
		if channel.ClassOf(err) != tt.class || channel.RetryAfterOf(err) != tt.wait || !errors.Is(err, cause) {
			t.Errorf("%v: %v after %v, want %v after %v", tt.refused, channel.ClassOf(err), channel.RetryAfterOf(err), tt.class, tt.wait)
		}
	}
	known := &channel.Error{Class: channel.Permanent, Code: "content_changed", Message: "m"}
	if got := uploadVerdict(fmt.Errorf("x: %w", known), nil); channel.ClassOf(got) != channel.Permanent {
		t.Errorf("an error that is sorted already becomes %v", got)
	}
}

func TestALateAnswerIsAnAcknowledgementARefusalOrTheEnd(t *testing.T) {
	ack := func(attrs waBinary.Attrs) *waBinary.Node { return &waBinary.Node{Tag: "ack", Attrs: attrs} }
	if at, err := acknowledged(ack(waBinary.Attrs{"t": "1700000000"})); err != nil || at.Unix() != 1700000000 {
		t.Errorf("an acknowledgement is %v, %v", at, err)
	}
	for name, tt := range map[string]struct {
		answer *waBinary.Node
		class  channel.Class
	}{
		"refused for good":      {ack(waBinary.Attrs{"error": "463"}), channel.Permanent},
		"refused for a while":   {ack(waBinary.Attrs{"error": "503"}), channel.Passing},
		"the connection ended":  {&waBinary.Node{Tag: "xmlstreamend"}, channel.Ambiguous},
		"the stream ended":      {&waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": "503"}}, channel.Ambiguous},
		"the channel is closed": {nil, channel.Ambiguous},
	} {
		if _, err := acknowledged(tt.answer); err == nil || channel.ClassOf(verdict(err)) != tt.class {
			t.Errorf("%s: %v, want %v", name, err, tt.class)
		}
	}
}
