package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// The bounds of questions whether a session elsewhere may use a tool.
const (
	permissionFor  = 10 * time.Minute // then the answer is no
	permissionKept = time.Hour        // how long an answer can be asked for
	maxPermissions = 4                // without an answer, of one group
)

// ErrNoPermissions is returned if the operator does not let a group's session ask.
var ErrNoPermissions error = &refusal.Error{
	Code: "no_permissions", Message: "this group's session may not ask members for permissions",
	Hint: "answer in the terminal; the operator allows it with claude_channel: permissions, see docs/remote.md",
}

// ErrNoPermission is returned for an id that no question of the conversation has.
var ErrNoPermission error = &refusal.Error{
	Code: "unknown_permission", Message: "no question of this conversation has this id", Hint: "it may be long ago, or the host was restarted since: take it as no",
}

// permissions has the questions of sessions elsewhere, in memory alone: a restart of the
// host answers them all with no. The zero permissions has none.
type permissions struct {
	mu  sync.Mutex
	all map[string]*permission // by id
}

// permission is one question. The approvers' chat knows it by another id than the session:
// a session that writes into that chat cannot forge a question with the same id.
type permission struct {
	ipc.Permission
	folder, thread string
	approval       string        // the id that members answer with
	until          time.Time     // Expires, by a clock that nobody sets
	answered       chan struct{} // closed with the answer
}

// open reports whether an answer would count.
func (p *permission) open(now time.Time) bool { return p.Answer == "" && now.Before(p.until) }

// add records a question, and deletes old ones. It reports whether there is room.
func (all *permissions) add(p *permission, now time.Time) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	open := 0
	for id, other := range all.all {
		if now.After(other.until.Add(permissionKept)) {
			delete(all.all, id)
		} else if other.folder == p.folder && other.open(now) {
			open++
		}
	}
	if open >= maxPermissions {
		return false
	}
	if all.all == nil {
		all.all = map[string]*permission{}
	}
	all.all[p.ID] = p
	return true
}

// asked returns the question that members answer with an id, else nil. all must be locked.
func (all *permissions) asked(approval string) *permission {
	for _, p := range all.all {
		if p.approval == approval {
			return p
		}
	}
	return nil
}

func (all *permissions) remove(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.all, id)
}

// AskPermission asks in the approvers' chat whether a session elsewhere may use a tool. The
// answer is no if nobody has said yes after ten minutes. The error is ErrNoPermissions, or
// a refusal if too many of the group's questions are open; other errors pass.
func (b *Bridge) AskPermission(ctx context.Context, folder, thread string, asks ipc.Permission) (ipc.Permission, error) {
	if !b.mayAsk(folder) {
		return asks, ErrNoPermissions
	}
	dst, err := b.authorize(b.Approvers(), ipc.Request{})
	if err != nil {
		return asks, err
	}
	now := time.Now()
	until := now.Add(permissionFor)
	asks.ID, asks.Answer, asks.Expires = randomID(), "", until.UTC()
	p := &permission{Permission: asks, folder: folder, thread: thread, approval: randomID(), until: until, answered: make(chan struct{})}
	if !b.permissions.add(p, now) {
		return asks, &refusal.Error{Code: "busy", Message: fmt.Sprintf("%d questions of this group wait for an answer", maxPermissions), Hint: "answer in the terminal"}
	}
	d := ownDelivery(b.Approvers(), dst, "permission "+p.approval)
	d.Parts = asked(report.Permission(folder, asks), ChoiceAllow, records.Approval{ID: p.approval, Expires: asks.Expires}, dst.limits)
	if err := b.judgeAndPut(ctx, dst, d); err != nil {
		b.permissions.remove(asks.ID)
		return asks, err
	}
	return asks, nil
}

// mayAsk reports whether members would be asked on behalf of a group's session.
func (b *Bridge) mayAsk(folder string) bool {
	return b.Approvers() != "" && b.MayAsk(folder)
}

func randomID() string {
	random := make([]byte, 16)
	rand.Read(random)
	return hex.EncodeToString(random)
}

// Permission returns a question of a conversation. answered is closed with its answer. The
// error is ErrNoPermission.
func (b *Bridge) Permission(folder, thread, id string) (asked ipc.Permission, answered <-chan struct{}, err error) {
	b.permissions.mu.Lock()
	defer b.permissions.mu.Unlock()
	p := b.permissions.all[id]
	if p == nil || p.folder != folder || p.thread != thread {
		return asked, nil, ErrNoPermission
	}
	switch {
	case p.Answer != "":
	case !p.open(time.Now()):
		b.decide(p, false, "nobody, in time")
	case !b.mayAsk(folder):
		b.decide(p, false, "the operator, who does not let the session ask any more")
	}
	return p.Permission, p.answered, nil
}

// decide records an answer. b.permissions must be locked.
func (b *Bridge) decide(p *permission, yes bool, by string) {
	e := audit.Entry{Event: audit.NotApproved, Time: time.Now().UTC(), Group: p.folder, Thread: p.thread, Code: records.CodeNotApproved}
	if p.Answer = ipc.Denied; yes {
		p.Answer, e.Event, e.Code = ipc.Allowed, audit.Approved, ""
	}
	defer close(p.answered) // the trail has it before the session
	e.Message = fmt.Sprintf("tool %s of the session elsewhere: answered by %s (rule claude_channel)", report.Quote(p.Tool, report.ToolName), by)
	b.Audit.Add(e)
}

// answerPermission records the answer to a question, and returns what the approvers' chat
// reads about it; empty: no question has this id.
func (b *Bridge) answerPermission(id string, yes bool, by string) string {
	b.permissions.mu.Lock()
	defer b.permissions.mu.Unlock()
	p := b.permissions.asked(id)
	switch {
	case p == nil:
		return ""
	case !p.open(time.Now()):
		return "Somebody has answered before, or the time is over."
	case !b.mayAsk(p.folder):
		b.decide(p, false, "the operator, who does not let the session ask any more")
		return "This does not count: the operator does not let the session ask any more. It is refused."
	}
	if b.decide(p, yes, b.Audit.Mask(by)); yes {
		return "Allowed: the session may use the tool, once."
	}
	return "Refused: the session may not use the tool."
}
