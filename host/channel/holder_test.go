package channel_test

import (
	"context"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// held is a channel whose runs a test sees.
type held struct {
	began, ended chan string
	version      string
}

func (held) Name() string                                     { return "held" }
func (held) Owns(groups.JID) bool                             { return true }
func (held) Limits() media.Limits                             { return media.Limits{} }
func (held) Repeat() channel.Repeat                           { return channel.Repeat{} }
func (held) Connected() (bool, string)                        { return true, "" }
func (held) Typing(context.Context, groups.JID, string, bool) {}
func (held) Send(context.Context, channel.Message) (channel.Receipt, error) {
	return channel.Receipt{}, nil
}

func (h held) Run(ctx context.Context, _ channel.Inbox) error {
	h.began <- h.version
	<-ctx.Done()
	h.ended <- h.version
	return nil
}

func TestAReplacedChannelEndsBeforeTheNextRuns(t *testing.T) {
	began, ended := make(chan string), make(chan string)
	one, two := held{began, ended, "one"}, held{began, ended, "two"}
	h := channel.NewHolder(one)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, nil) }()
	if got := <-began; got != "one" {
		t.Errorf("%s runs", got)
	}
	h.Replace(two)
	select {
	case got := <-began:
		t.Errorf("%s runs beside the one before", got)
	case got := <-ended:
		if got != "one" {
			t.Errorf("%s ended", got)
		}
	}
	if got := <-began; got != "two" {
		t.Errorf("%s runs", got)
	}
	if _, types := channel.Named([]channel.Channel{h}, "held").(channel.Typing); !types {
		t.Error("a list does not show what the channel can")
	}
	stop()
	<-ended
	if err := <-done; err != nil {
		t.Error(err)
	}
}
