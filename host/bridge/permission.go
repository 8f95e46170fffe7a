package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// ErrNoPermissions is returned if the operator does not let a group's session ask.
var ErrNoPermissions error = &refusal.Error{
	Code: "no_permissions", Message: "this group's session may not ask members for permissions",
	Hint: "answer in the terminal; the operator allows it with claude_channel: permissions, see docs/remote.md",
}

// ErrNoPermission is returned for an id that no question of the conversation has.
var ErrNoPermission error = &refusal.Error{
	Code: "unknown_permission", Message: "no question of this conversation has this id", Hint: "it may be long ago: take it as no",
}

// AskPermission asks in the approvers' chat whether a session elsewhere may use a tool. The
// answer is no if nobody has said yes after ten minutes, or if the session has not asked for the
// answer for about two. The error is ErrNoPermissions, or a refusal if too many of the group's questions
// are open; other errors pass. A question that comes again under the ID that the session gave it is the same question.
func (b *Bridge) AskPermission(ctx context.Context, folder, thread string, asks ipc.Permission) (ipc.Permission, error) {
	if b.Approvers() == "" || !b.MayAsk(folder) {
		return asks, ErrNoPermissions
	}
	dst, err := b.authorize(b.Approvers(), ipc.Request{})
	if err != nil {
		return asks, err
	}
	b.asking.Lock()
	defer b.asking.Unlock()
	if asks.ID != "" {
		if known, err := b.askedBefore(ctx, folder, thread, asks); err != nil || known.ID != "" {
			return known, err
		}
	}
	if err := b.mayAskMore(ctx, folder, records.PolicyPermission, 0, refusal.Error{Code: "busy", Hint: "answer in the terminal"}); err != nil {
		return asks, err
	}
	// The approvers' chat knows it by another id than the session: a session that writes into
	// that chat cannot forge a question with the same id.
	now, p := time.Now(), policies[records.PolicyPermission]
	asks.ID, asks.Answer, asks.Expires = cmp.Or(asks.ID, outbox.RandomID()), "", now.Add(p.within).UTC()
	about, err := json.Marshal(asks)
	if err != nil {
		return asks, err
	}
	a := records.Ask{
		ID: outbox.RandomID(), Policy: records.PolicyPermission, Folder: folder, Thread: thread,
		Session: asks.ID, Rule: "claude_channel", About: string(about), Expires: asks.Expires,
	}
	d := ownDelivery(b.Approvers(), dst, "ask "+a.ID)
	d.Parts = showAsk(report.Permission(folder, asks), &a, dst.limits)
	a.Expires, d.Asks = now.Add(p.heed), &a
	return asks, b.judgeAndPut(ctx, dst, d)
}

// askedBefore returns the conversation's question that has this ID; the zero Permission if there is none.
func (b *Bridge) askedBefore(ctx context.Context, folder, thread string, asks ipc.Permission) (known ipc.Permission, err error) {
	a, err := b.Outbox.Reader().Permission(ctx, asks.ID)
	if errors.Is(err, records.ErrNotFound) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(a.About), &known)
	}
	if err == nil && (a.Folder != folder || a.Thread != thread || known.Tool != asks.Tool || known.Description != asks.Description || known.Input != asks.Input) {
		return ipc.Permission{}, &refusal.Error{Code: ipc.CodeWrongValue, Message: "another question has this id", Hint: "choose a random id for each question"}
	}
	return known, err
}

// Permission returns a question of a conversation, as soon as it is answered or after the time to
// wait. The error is ErrNoPermission; other errors pass.
func (b *Bridge) Permission(ctx context.Context, folder, thread, id string, wait time.Duration) (ipc.Permission, error) {
	for until := time.Now().Add(wait); ; {
		b.mu.Lock()
		news := b.news
		b.mu.Unlock()
		p, err := b.permission(ctx, folder, thread, id)
		left := time.Until(until)
		if err != nil || p.Answer != "" || left <= 0 {
			return p, err
		}
		select {
		case <-news:
		case <-time.After(min(left, policies[records.PolicyPermission].heed/2)): // it still waits
		case <-ctx.Done():
			return p, nil
		}
	}
}

// permission returns a question of a conversation whose session waits for the answer.
func (b *Bridge) permission(ctx context.Context, folder, thread, id string) (p ipc.Permission, err error) {
	a, err := b.Outbox.Reader().Permission(ctx, id)
	if errors.Is(err, records.ErrNotFound) || err == nil && (a.Folder != folder || a.Thread != thread) {
		return p, ErrNoPermission
	}
	if err == nil {
		err = json.Unmarshal([]byte(a.About), &p)
	}
	switch now := time.Now(); {
	case err != nil || a.Answer != "":
	case !now.Before(a.Expires) && !b.mayComeBack(a, now):
		err = b.endLate(ctx, a, now)
	case !b.MayAsk(folder):
		err = b.end(ctx, a, records.AnswerWithdrawn, "")
	default:
		return p, b.heed(ctx, a, now)
	}
	p.Answer = ipc.Denied
	if a.Answer == records.AnswerYes {
		p.Answer = ipc.Allowed
	}
	return p, err
}
