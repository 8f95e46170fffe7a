package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// The choices of a poll that asks for an approval.
const (
	ChoiceYes   = "Yes, send it"
	ChoiceAllow = "Yes, allow it" // to a permission
	ChoiceNo    = "No"
)

// askApprovers asks in the approvers' chat whether a delivery may go that waits for an
// approval. Asked again, after a restart, it does nothing.
func (b *Bridge) askApprovers(ctx context.Context, d *outbox.Delivery) {
	if b.Approvers == nil || b.Approvers() == "" || !d.Waits() {
		return
	}
	folder := b.Approvers()
	a, err := b.Outbox.Reader().Approval(ctx, d.Key)
	if err == nil {
		err = b.askFor(ctx, folder, d, a)
	}
	if err != nil && !errors.Is(err, outbox.ErrNotFound) {
		b.Log.Error("nobody was asked to approve a delivery; the operator can", "group", d.Folder, "request", d.Request, "error", err)
	}
}

// askFor asks by a poll if the channel has one that fits, else by a text with the words to
// answer.
func (b *Bridge) askFor(ctx context.Context, folder string, d *outbox.Delivery, a outbox.Approval) error {
	dst, err := b.authorize(folder, ipc.Request{})
	if err != nil {
		return err
	}
	ask := hostDelivery(folder, dst, "approval "+a.ID)
	question := fmt.Sprintf("Group %s wants to %s %s:\n%s\nRule: %s. May it go?", d.Folder, intent(d), d.Chat, contents(d), a.Rule)
	ask.Parts = asked(question, ChoiceYes, a, dst.limits)
	return b.judgeAndPut(ctx, dst, ask)
}

// asked is a question of the approvers' chat: a poll, or a text with the words to answer.
func asked(question, yes string, a outbox.Approval, limits media.Limits) []outbox.Part {
	choices := []string{yes, ChoiceNo}
	if plain := strings.Join(markup.Parts(question, media.MarkupPlain, 0, limits.Unit), ""); fitsPoll(limits, plain, choices) {
		return []outbox.Part{{Text: plain, Question: &outbox.Question{Choices: choices, Until: a.Expires, Approval: a.ID}}}
	}
	parts := texts(fmt.Sprintf("%s Until %s, answer with one of these lines:\n\n`yes %s`\n\n`no %s`", question, until(a.Expires), a.ID, a.ID), limits)
	for i := range parts {
		parts[i].Asks = a.ID
	}
	return parts
}

// intent says what a delivery would do in its chat, for people.
func intent(d *outbox.Delivery) string {
	switch act := d.Parts[0].Act; { // the parts of one delivery do the same
	case act == nil:
		return "send to"
	case act.Verb == outbox.VerbReact:
		return "react to a message in"
	default:
		return "change a message in"
	}
}

// shownText is how much of a delivery's words the approvers' chat reads, in characters.
const shownText = 600

// contents says what a delivery holds, for people. The names of files and the words are
// foreign, and marked so.
func contents(d *outbox.Delivery) string {
	const most = 3
	var all []string
	files := filesOf(d)
	for _, f := range files[:min(len(files), most)] {
		all = append(all, fmt.Sprintf("%s (%s)", quotedName(f.Name), media.Size(f.Size)))
	}
	if len(files) > most {
		all = append(all, media.Count(len(files)-most, "more file"))
	}
	if words := wordsOf(d); words != "" {
		all = append(all, quotedLines(media.Cut(words, shownText), shownText))
		if more := utf8.RuneCountInString(words) - shownText; more > 0 {
			all = append(all, media.Count(more, "more character")+" that only the operator can read")
		}
	}
	if len(all) == 0 {
		return "a message"
	}
	return strings.Join(all, "\n")
}

// wordsOf are all words of a delivery in one line: texts, captions, choices, and what files
// show. The address of a link is left out: after a yes it works for everybody.
func wordsOf(d *outbox.Delivery) string {
	var all []string
	var link string // the last one's id
	for _, p := range d.Parts {
		if p.Link != nil {
			link = p.Link.ID
		}
		for _, word := range strings.Fields(p.Says()) {
			if link != "" && strings.Contains(word, link) {
				word = "(address)"
			}
			all = append(all, word)
		}
		for _, f := range p.Files {
			if alt := strings.Fields(f.Alt); len(alt) > 0 {
				all = append(append(all, "/"), alt...)
			}
		}
		if p.Question != nil {
			for _, c := range p.Question.Choices {
				all = append(append(all, "/"), strings.Fields(c)...)
			}
		}
	}
	return strings.Join(all, " ")
}

// DecideByID is Decide for the approval with that id, or the answer to a permission, by a
// member. It tells the approvers'
// chat what came of it. An id that is no approval's is outbox.ErrNotFound; other errors pass.
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
	case errors.Is(err, outbox.ErrDecided):
		words = "Somebody has answered before, or the time is over."
	case errors.Is(err, outbox.ErrNoBytes):
		words = "This cannot go any more: its file is gone."
	case why != nil:
		words = "This cannot go any more: " + why.Message
	case err != nil:
		return err
	}
	b.tellApprovers(ctx, id, words)
	return nil
}

// tellApprovers says in the approvers' chat what came of an answer to an approval.
func (b *Bridge) tellApprovers(ctx context.Context, id, words string) {
	if err := b.Tell(ctx, b.Approvers(), "", words, "answer "+id+" "+words); err != nil {
		b.Log.Warn("the approvers were not told what came of an answer", "error", err)
	}
}
