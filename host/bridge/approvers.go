package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// The choices of a poll that asks for an approval.
const (
	ChoiceYes   = "Yes, send it"
	ChoiceAllow = "Yes, allow it" // to a permission
	ChoiceNo    = "No"
)

// askApprovers asks the approvers' chat about a delivery that waits for an approval. A
// second call, after a restart, does nothing.
func (b *Bridge) askApprovers(ctx context.Context, d *records.Delivery) {
	folder := b.Approvers()
	if folder == "" || !d.Waits() {
		return
	}
	a, err := b.Outbox.Reader().Approval(ctx, d.Key)
	if err == nil {
		err = b.askFor(ctx, folder, d, a)
	}
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		b.Log.Error("nobody was asked to approve a delivery; the operator can", "group", d.Folder, "request", d.Request, "error", err)
	}
}

// askFor asks by a poll if the channel has one that fits, else by a text with the words to
// answer.
func (b *Bridge) askFor(ctx context.Context, folder string, d *records.Delivery, a records.Approval) error {
	dst, err := b.authorize(folder, ipc.Request{})
	if err != nil {
		return err
	}
	ask := ownDelivery(folder, dst, "approval "+a.ID)
	ask.Parts = asked(report.Approval(d, a.Rule), ChoiceYes, a, dst.limits)
	return b.judgeAndPut(ctx, dst, ask)
}

// asked returns a question for the approvers' chat: a poll, or a text with the words to answer.
func asked(question, yes string, a records.Approval, limits media.Limits) []records.Part {
	choices := []string{yes, ChoiceNo}
	if plain := strings.Join(markup.Parts(question, media.MarkupPlain, 0, limits.Unit), ""); fitsPoll(limits, plain, choices) {
		return []records.Part{{Text: plain, Question: &records.Question{Choices: choices, Until: a.Expires, Approval: a.ID}}}
	}
	parts := texts(fmt.Sprintf("%s Until %s, answer with one of these lines:\n\n`yes %s`\n\n`no %s`", question, report.Until(a.Expires), a.ID, a.ID), limits)
	for i := range parts {
		parts[i].Asks = a.ID
	}
	return parts
}

// DecideByID is Decide by a member for the approval with that id, or answers the permission
// with that id. It reports the outcome to the approvers' chat. The error is
// outbox.ErrNotFound if nothing has this id; other errors pass.
func (b *Bridge) DecideByID(ctx context.Context, id string, yes bool, by string) error {
	if words := b.answerPermission(id, yes, by); words != "" {
		b.tellApprovers(ctx, id, words)
		return nil
	}
	key, err := b.Outbox.Reader().KeyOfApproval(ctx, id)
	if err != nil {
		return err
	}
	words := "Approved: it is being sent."
	if !yes {
		words = "Refused: it is not sent."
	}
	err = b.Decide(ctx, key, yes, by)
	switch why := AsRefusal(err); {
	case errors.Is(err, records.ErrDecided):
		words = "Somebody has answered before, or the time is over."
	case errors.Is(err, records.ErrNoBytes):
		words = "This cannot go any more: its file is gone."
	case why != nil:
		words = "This cannot go any more: " + why.Message
	case err != nil:
		return err
	}
	b.tellApprovers(ctx, id, words)
	return nil
}

// tellApprovers reports the outcome of an answer to the approvers' chat.
func (b *Bridge) tellApprovers(ctx context.Context, id, words string) {
	if err := b.Tell(ctx, b.Approvers(), "", words, "answer "+id+" "+words); err != nil {
		b.Log.Warn("the approvers were not told what came of an answer", "error", err)
	}
}
