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

// A word that is the beginning of another one counted as that.
func TestAPlatformsWordCountsAsAWholeOne(t *testing.T) {
	for _, tt := range []struct {
		on, said string
		numbers  []int
		want     bool
	}{
		{"restricted_action", "restricted_action", nil, true},
		{"restricted_action", "restricted_action_read_only_channel", nil, false},
		{"name|invalid_name", "INVALID_NAME", nil, true},
		{"bot was kicked", "Forbidden: bot was kicked from the group chat", nil, true},
		{"at not", "chat not found", nil, false},
		{"at not|not", "chat not found", nil, true},
		{"404|chat not found", "", []int{400, 404}, true},
		{"404", "code 404", []int{400}, false},
		{"a|", "", nil, true},
		{"a|", "b", nil, false},
		{"a", "", nil, false},
	} {
		if channel.Says(tt.on, tt.said, tt.numbers...) != tt.want {
			t.Errorf("%q of %q %v is %v", tt.on, tt.said, tt.numbers, !tt.want)
		}
	}
}
