package bot

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// Platforms block a bot that goes on asking for what it may not do.
func TestAChatThatRefusesTheBotIsLeftAloneForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Barred
		refused := &channel.Error{Class: channel.Held, Code: "no_access", Message: "the bot cannot see it", Hint: "invite it", Err: &webapi.Word{}}
		if b.Note("post:desk", refused) != refused || b.Of("post:desk") != refused || b.Of("post:office") != nil {
			t.Error("another chat is left alone, or this one is not")
		}
		if got, want := b.Trouble(), "post:desk: the bot cannot see it: invite it"; got != want {
			t.Errorf("the status says %q, want %q", got, want)
		}
		time.Sleep(restFor)
		if b.Of("post:desk") != nil || b.Trouble() == "" {
			t.Error("it is never tried again, or nobody knows why it failed")
		}
		if b.Note("post:desk", nil); b.Trouble() != "" {
			t.Error("a success did not end it")
		}
	})
}

func TestOnlyWhatThePlatformHoldsBarsAChat(t *testing.T) {
	var b Barred
	for _, err := range []error{errors.New("lost"), &channel.Error{Class: channel.Permanent, Err: &webapi.Word{}}, &channel.Error{Class: channel.Held}} {
		if b.Note("post:desk", err); b.Of("post:desk") != nil {
			t.Errorf("it is left alone after %v", err)
		}
	}
	left := errors.New("the bot was removed")
	if !b.Bar("post:desk", left) || b.Bar("post:desk", left) || b.Of("post:desk") != left {
		t.Error("a chat that is barred for good is tried, or told of twice")
	}
	if b.Free("post:desk"); b.Of("post:desk") != nil {
		t.Error("it is not free again")
	}
}
