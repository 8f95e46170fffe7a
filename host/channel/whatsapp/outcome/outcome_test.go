package outcome

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"

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
		err := Of(tt.err)
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code || e.Message == "" || e.Hint == "" {
			t.Errorf("%s: %+v, want %v %s", tt.name, err, tt.class, tt.code)
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: the cause is lost", tt.name)
		}
	}
	if wait := channel.RetryAfterOf(Of(ack(429))); wait < time.Minute {
		t.Errorf("after 429 it waits %v", wait)
	}
}

// TestASendThatIsGivenUpIsTriedAgain: the library had not got the message yet.
func TestASendThatIsGivenUpIsTriedAgain(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	if err := Cancelled(ctx); err != nil {
		t.Errorf("before the end: %v", err)
	}
	end()
	var e *channel.Error
	if err := Cancelled(ctx); !errors.As(err, &e) || e.Class != channel.Passing || e.Code != "cancelled" || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %+v", err)
	}
}
