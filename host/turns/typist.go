package turns

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/groups"
)

// typingRefresh is less than the shortest time after which a platform takes
// the sign away by itself (Slack and Telegram: 5 s).
const typingRefresh = 4 * time.Second

// typist shows in a chat that somebody is writing. It has a goroutine of its
// own, because a platform may be slow to show it.
type typist struct {
	platforms Platforms
	chat      groups.Address
	thread    string
	want      chan bool // the latest wish
}

func newTypist(platforms Platforms, chat groups.Address, thread string) *typist {
	return &typist{platforms: platforms, chat: chat, thread: thread, want: make(chan bool, 1)}
}

// show and end are for one goroutine.
func (t *typist) show(on bool) {
	select {
	case <-t.want:
	default:
	}
	t.want <- on
}

func (t *typist) end() { close(t.want) }

// run works until end.
func (t *typist) run(ctx context.Context) {
	tick := time.NewTicker(typingRefresh)
	defer tick.Stop()
	on := false
	set := func(want bool) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), typingRefresh)
		defer cancel()
		t.platforms.Typing(ctx, t.chat, t.thread, want)
	}
	for {
		select {
		case want, more := <-t.want:
			if on != (want && more) {
				on = want && more
				set(on)
			}
			if !more {
				return
			}
			tick.Reset(typingRefresh)
		case <-tick.C:
			if on {
				set(true)
			}
		}
	}
}
