package slack

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/internal/cache"
)

const (
	reaction   = "eyes"
	status     = "is working…"
	statusFor  = time.Minute // Slack takes a status away after two
	signWithin = 10 * time.Second
)

// workingSigns show that the assistant works: by a status in a thread or, if there is no thread or
// the app may not set a status, by a reaction to the member's message.
type workingSigns struct {
	busy   link.Keyed              // by threadKey: held while a sign is shown or hidden
	at     cache.Map[string, sign] // by threadKey
	own    cache.Map[string, bool] // messages with the reaction because the assistant itself reacted so
	none   atomic.Bool             // Slack takes no status from this app
	warned atomic.Bool             // that signs fail, in the log
}

// sign is the sign of one threadKey: a thread, or a chat with all its threads.
type sign struct {
	ts     string    // the latest message of a member
	shown  string    // the message with the reaction, or the thread with the status; empty: nothing
	status bool      // it is a status
	since  time.Time // of the status
}

// heard notes the latest message of a member.
func (t *workingSigns) heard(chat groups.JID, ts, thread string) {
	for _, in := range []string{"", thread} {
		t.at.Change(threadKey(chat, in), func(of sign, _ bool) sign {
			of.ts = ts
			return of
		})
	}
}

// reacted records whether the assistant itself reacts to a message with the sign's reaction, and
// reports whether a sign shows that reaction there.
func (t *workingSigns) reacted(chat groups.JID, ts string, own bool) (shown bool) {
	t.own.Set(threadKey(chat, ts), own)
	for in, of := range t.at.All() {
		shown = shown || of.shown == ts && !of.status && strings.HasPrefix(in, threadKey(chat, ""))
	}
	return shown
}

// Typing implements channel.Typing.
func (s *Slack) Typing(ctx context.Context, chat groups.JID, thread string, on bool) {
	err := s.Within(ctx, func(ctx context.Context, _ *bot.Open) error {
		ctx, cancel := context.WithTimeout(ctx, signWithin)
		defer cancel()
		at := threadKey(chat, thread)
		free, err := s.signs.busy.Enter(ctx, at)
		if err != nil {
			return nil
		}
		defer free()
		of, ok := s.signs.at.Get(at)
		if on {
			err = s.show(ctx, decode.IDOf(chat), thread, &of)
		} else {
			err = s.hide(ctx, decode.IDOf(chat), &of)
		}
		if ok {
			s.signs.at.Change(at, func(now sign, _ bool) sign {
				of.ts = now.ts
				return of
			})
		}
		return err
	})
	if err != nil && s.Link.Up() && !s.signs.warned.Swap(true) {
		s.Log.Warn("Slack does not show that the assistant works; this is said once", "error", err)
	}
}

// show shows the sign at the latest message, and hides an older one.
func (s *Slack) show(ctx context.Context, id, thread string, of *sign) error {
	at, asStatus := of.ts, thread != "" && !s.signs.none.Load()
	if asStatus {
		at = thread
	}
	switch {
	case of.ts == "" || of.shown == at && of.status == asStatus && (!asStatus || time.Since(of.since) < statusFor):
		return nil
	case of.shown != "" && of.shown != at:
		if err := s.hide(ctx, id, of); err != nil {
			return err
		}
	}
	if asStatus {
		err := s.setStatus(ctx, id, at, status)
		if err == nil {
			of.shown, of.status, of.since = at, true, time.Now()
		}
		if class := channel.ClassOf(err); class != channel.Permanent && class != channel.Held {
			return err
		}
		s.signs.none.Store(true)
		at = of.ts
	}
	if err := s.mark(ctx, "add", id, at, reaction); err != nil {
		return err
	}
	of.shown, of.status = at, false
	return nil
}

// hide removes the sign. With the answer, Slack itself removes a status.
func (s *Slack) hide(ctx context.Context, id string, of *sign) error {
	at := of.shown
	of.shown = ""
	own, _ := s.signs.own.Get(threadKey(decode.ChatOf(id), at))
	switch {
	case at == "" || own && !of.status:
		return nil
	case of.status:
		return s.setStatus(ctx, id, at, "")
	}
	return s.mark(ctx, "remove", id, at, reaction)
}

func (s *Slack) setStatus(ctx context.Context, id, thread, text string) error {
	return s.api.refusal(s.api.slack.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{ChannelID: id, ThreadTS: thread, Status: text}))
}
