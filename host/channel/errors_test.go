package channel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/host/channel"
)

func TestAnErrorPassesUnlessItSaysOtherwise(t *testing.T) {
	cause := errors.New("403 forbidden")
	gone := &channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "the account left the chat", Hint: "invite it again", Err: cause}
	for _, tt := range []struct {
		name  string
		err   error
		class channel.Class
		after time.Duration
	}{
		{"nil", nil, channel.Passing, 0},
		{"any error", errors.New("connection reset"), channel.Passing, 0},
		{"cancelled", context.Canceled, channel.Passing, 0},
		{"the zero Error", &channel.Error{}, channel.Passing, 0},
		{"permanent", gone, channel.Permanent, 0},
		{"permanent, wrapped", fmt.Errorf("send part 2: %w", gone), channel.Permanent, 0},
		{"ambiguous", &channel.Error{Class: channel.Ambiguous}, channel.Ambiguous, 0},
		{"held", &channel.Error{Class: channel.Held}, channel.Held, 0},
		{"rate limited", fmt.Errorf("send: %w", &channel.Error{RetryAfter: time.Minute}), channel.Passing, time.Minute},
		{"a wish of the past", &channel.Error{RetryAfter: -time.Minute}, channel.Passing, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := channel.ClassOf(tt.err); got != tt.class {
				t.Errorf("class %v, want %v", got, tt.class)
			}
			if got := channel.RetryAfterOf(tt.err); got != tt.after {
				t.Errorf("retry after %v, want %v", got, tt.after)
			}
		})
	}
	if !errors.Is(gone, cause) {
		t.Error("the cause is lost")
	}
	if got := gone.Error(); got != "the account left the chat: 403 forbidden" {
		t.Errorf("operator reads %q", got)
	}
	if r := refusal.Of(gone); r.Code != "not_a_member" || r.Message != "the account left the chat" || r.Hint != "invite it again" {
		t.Errorf("agent reads %+v", r)
	}
	if got := (&channel.Error{Message: "the account left the chat"}).Error(); got != "the account left the chat" {
		t.Errorf("without a cause: %q", got)
	}
}

func TestClassesHaveNames(t *testing.T) {
	for class, want := range map[channel.Class]string{
		channel.Passing: "passing", channel.Permanent: "permanent", channel.Ambiguous: "ambiguous", channel.Held: "held", 9: "class 9",
	} {
		if got := class.String(); got != want {
			t.Errorf("%d is %q, want %q", int(class), got, want)
		}
	}
}
