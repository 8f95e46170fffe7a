package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
)

const (
	reaction   = "eyes"
	status     = "is working…"
	statusFor  = time.Minute // Slack takes a status away after two
	maxSigns   = 1000        // places that are remembered
	signWithin = 10 * time.Second
)

// workingSigns show that the assistant works: by a status in a thread or, if there is no thread or
// the app may not set a status, by a reaction to the member's message.
type workingSigns struct {
	busy link.Keyed // by threadKey: held while a sign is shown or hidden

	mu     sync.Mutex
	at     map[string]sign // by threadKey
	own    map[string]bool // messages with the reaction because the assistant itself reacted so
	none   bool            // Slack takes no status from this app
	warned bool            // that signs fail, in the log
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil || len(t.at) >= maxSigns {
		t.at = map[string]sign{}
	}
	for _, in := range []string{"", thread} {
		of := t.at[threadKey(chat, in)]
		of.ts = ts
		t.at[threadKey(chat, in)] = of
	}
}

func (t *workingSigns) of(key string) (of sign, none bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at[key], t.none
}

// reacted records whether the assistant itself reacts to a message with the sign's reaction, and
// reports whether a sign shows that reaction there.
func (t *workingSigns) reacted(chat groups.JID, ts string, own bool) (shown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.own, threadKey(chat, ts))
	if own {
		if t.own == nil || len(t.own) >= maxSigns {
			t.own = map[string]bool{}
		}
		t.own[threadKey(chat, ts)] = true
	}
	for in, of := range t.at {
		shown = shown || of.shown == ts && !of.status && strings.HasPrefix(in, threadKey(chat, ""))
	}
	return shown
}

func (t *workingSigns) owned(chat groups.JID, ts string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own[threadKey(chat, ts)]
}

// Typing implements channel.Typing.
func (s *Slack) Typing(ctx context.Context, chat groups.JID, thread string, on bool) {
	ctx, _, leave, err := s.Enter(ctx)
	if err != nil {
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, signWithin)
	defer cancel()
	at := threadKey(chat, thread)
	free, err := s.signs.busy.Enter(ctx, at)
	if err != nil {
		return
	}
	defer free()
	of, none := s.signs.of(at)
	if on {
		err = s.show(ctx, decode.IDOf(chat), thread, &of, &none)
	} else {
		err = s.hide(ctx, decode.IDOf(chat), &of)
	}
	s.signs.mu.Lock()
	defer s.signs.mu.Unlock()
	s.signs.none = s.signs.none || none
	if now, ok := s.signs.at[at]; ok {
		of.ts = now.ts
		s.signs.at[at] = of
	}
	if err != nil && !s.signs.warned {
		s.signs.warned = true
		s.Log.Warn("Slack does not show that the assistant works; this is said once", "error", err)
	}
}

// show shows the sign at the latest message, and hides an older one.
func (s *Slack) show(ctx context.Context, id, thread string, of *sign, none *bool) error {
	at, asStatus := of.ts, thread != "" && !*none
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
		*none, at = true, of.ts
	}
	if err := apiError(s.api.slackgo.AddReactionContext(ctx, reaction, slackgo.NewRefToMessage(id, at))); err != nil && !says(err, "already_reacted") {
		return err
	}
	of.shown, of.status = at, false
	return nil
}

// hide removes the sign. With the answer, Slack itself removes a status.
func (s *Slack) hide(ctx context.Context, id string, of *sign) error {
	at := of.shown
	of.shown = ""
	switch {
	case at == "":
		return nil
	case of.status:
		return s.setStatus(ctx, id, at, "")
	case s.signs.owned(decode.ChatOf(id), at):
		return nil
	}
	err := apiError(s.api.slackgo.RemoveReactionContext(ctx, reaction, slackgo.NewRefToMessage(id, at)))
	if says(err, "no_reaction", "message_not_found") {
		return nil
	}
	return err
}

func (s *Slack) setStatus(ctx context.Context, id, thread, text string) error {
	return apiError(s.api.slackgo.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{ChannelID: id, ThreadTS: thread, Status: text}))
}
