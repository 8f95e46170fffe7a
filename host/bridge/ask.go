package bridge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// People are asked in one way, whatever it is about: an Ask is recorded, shown by a delivery,
// answered or over, and its end is shown. A restart may come between any two of these; watchAsks
// goes on with what the records say. A policy says how the kinds differ.

// policy is how people are asked one kind of question. A new kind is one more of policies.
type policy struct {
	everybody bool          // who may speak in the chat has a vote until the time is over; else the first answer of somebody whom the operator has named ends it
	most      int           // that one group may have open; 0: as outbox.RoomToWait says
	within    time.Duration // in which an answer counts, unless whoever asks says otherwise
	heed      time.Duration // for how long whoever asks may be silent, and still counts as waiting for the answer; 0: for ever
	yes       string        // the choice that says yes; the other one is ChoiceNo

	ends map[string]string // what the approvers read about each answer
}

// The choices of a poll that asks the approvers.
const (
	ChoiceYes   = "Yes, send it"
	ChoiceAllow = "Yes, allow it" // to a permission
	ChoiceNo    = "No"
)

var policies = map[records.Policy]policy{
	records.PolicyQuestion: {everybody: true, most: 10, within: 10 * time.Minute},
	records.PolicyApproval: {yes: ChoiceYes, ends: map[string]string{
		records.AnswerYes:  "Approved: it is being sent.",
		records.AnswerNo:   "Refused: it is not sent.",
		records.AnswerNone: "Nobody answered in time: it is not sent.",
		records.AnswerLost: "It is not sent: the host has lost its file.",
	}},
	records.PolicyPermission: {most: 4, within: 10 * time.Minute, heed: 2 * time.Minute, yes: ChoiceAllow, ends: map[string]string{
		records.AnswerYes:       "Allowed: the session may use the tool, once.",
		records.AnswerNo:        "Refused: the session may not use the tool.",
		records.AnswerNone:      "Nobody answered in time: the session may not use the tool.",
		records.AnswerGone:      "This is over: the session that asked has ended, or cannot be reached. It is refused.",
		records.AnswerWithdrawn: "This does not count: the operator does not let the session ask any more. It is refused.",
	}},
}

// mayAskMore refuses one more Ask of a group that has as many open as the policy allows. ahead
// are those that are not recorded yet.
func (b *Bridge) mayAskMore(ctx context.Context, folder string, p records.Policy, ahead int, full refusal.Error) error {
	n, err := b.Outbox.Reader().OpenAsks(ctx, folder, p, time.Now())
	if err == nil && n+ahead >= policies[p].most {
		full.Message = fmt.Sprintf("%d questions of this group are still open", policies[p].most)
		err = &full
	}
	return err
}

// show returns the parts by which a question is asked: a poll, if the channel has one that takes
// it, else a text with the words to answer.
func show(text, words string, q *records.Question, l media.Limits, host bool) []records.Part {
	if plain := plainly(text, l); fitsPoll(l, plain, q.Choices) {
		return []records.Part{{Text: plain, Written: written(text, plain), Question: q, Host: host}}
	}
	parts := texts(text+words, l)
	for i := range parts {
		parts[i].Host = host
	}
	q.Numbered = true
	parts[len(parts)-1].Question = q
	return parts
}

// showAsk returns the parts that show an Ask to the approvers.
func showAsk(question string, a *records.Ask, l media.Limits) []records.Part {
	words := fmt.Sprintf(" Until %s, answer with one of these lines:\n\n`yes %s`\n\n`no %s`", report.Until(a.Expires), a.ID, a.ID)
	return show(question, words, &records.Question{Choices: []string{policies[a.Policy].yes, ChoiceNo}, Until: a.Expires, Ask: a.ID}, l, true)
}

// Answer takes a member's answer to what the approvers are asked: a vote in its poll, or a typed
// "yes ID" or "no ID". taken means that nothing else gets the message. After an error the channel
// delivers it again.
func (b *Bridge) Answer(ctx context.Context, chat groups.Address, m *channel.Inbound) (taken bool, err error) {
	g, ok := b.Registry().ByFolder(b.Approvers())
	if !ok || g.Address() != chat {
		return false, nil
	}
	a, yes, err := b.answered(ctx, chat, m)
	switch {
	case errors.Is(err, records.ErrNotFound): // an answer to something else
		return false, nil
	case err != nil || policies[a.Policy].everybody:
		return false, err
	case m.Forwarded || !b.MayApprove(m.Sender, m.Also):
		b.Log.Warn("an answer to an approval does not count: its sender is not among approval.members", "group", g.Folder, "sender", m.Sender)
		return true, nil
	case m.Kind == channel.KindVote && len(m.Choices) == 0: // it was withdrawn: the first answer has counted
		return true, nil
	case a.By == m.Sender && a.Answer == answerOf(yes): // it came again
		return true, nil
	}
	return true, b.count(ctx, a, yes, m.Sender)
}

// answered returns what a member answers, and whether by yes. Error: records.ErrNotFound.
func (b *Bridge) answered(ctx context.Context, chat groups.Address, m *channel.Inbound) (a *records.Ask, yes bool, err error) {
	id, yes, typed := typedAnswer(m.Text)
	switch {
	case m.Kind == channel.KindVote:
		a, err = b.Outbox.Asked(ctx, chat, m)
		return a, err == nil && slices.Contains(m.Choices, policies[a.Policy].yes), err
	case m.Kind == channel.KindMessage && typed:
		a, err = b.Outbox.Reader().Ask(ctx, id)
		return a, yes, err
	}
	return nil, false, records.ErrNotFound
}

// answerForm is a typed answer: yes or no, and the whole id of an Ask.
var answerForm = regexp.MustCompile(`^\s{0,9}([yY][eE][sS]|[nN][oO])\s{1,9}([0-9a-fA-F]{32})\s{0,9}$`)

func typedAnswer(text string) (id string, yes, ok bool) {
	m := answerForm.FindStringSubmatch(text)
	if m == nil {
		return "", false, false
	}
	return strings.ToLower(m[2]), len(m[1]) == len("yes"), true
}

// count counts a member's answer, and tells the approvers' chat if it does not count. Errors pass.
func (b *Bridge) count(ctx context.Context, a *records.Ask, yes bool, by string) error {
	var words string
	err := b.decide(ctx, a, yes, by)
	switch why := AsRefusal(err); {
	case err == nil:
		return nil
	case errors.Is(err, records.ErrDecided):
		words = "Somebody has answered before, or the time is over."
	case errors.Is(err, records.ErrNoBytes):
		words = "This cannot go any more: its file is gone."
	case why != nil:
		words = "This cannot go any more: " + why.Message
	default:
		return err
	}
	if err := b.Tell(ctx, b.Approvers(), "", words, "answer "+a.ID+" "+words); err != nil {
		b.Log.Warn("the approvers were not told what came of an answer", "error", err)
	}
	return nil
}

// decide counts a person's answer, unless what was asked may not be any more. The errors are
// those of mayStill and of [outbox.Outbox.Answer].
func (b *Bridge) decide(ctx context.Context, a *records.Ask, yes bool, by string) error {
	now := time.Now()
	if a.Answer == "" && !a.Open(now) && b.mayComeBack(a, now) {
		if err := b.heed(ctx, a, b.began); err != nil {
			return err
		}
	}
	if a.Policy == records.PolicyPermission && a.Open(now) && !b.MayAsk(a.Folder) {
		return b.end(ctx, a, records.AnswerWithdrawn, "")
	}
	if yes && a.Policy == records.PolicyApproval {
		if err := b.mayStill(ctx, a.Key); err != nil {
			return err
		}
	}
	return b.end(ctx, a, answerOf(yes), by)
}

func answerOf(yes bool) string {
	if yes {
		return records.AnswerYes
	}
	return records.AnswerNo
}
