package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// question returns the part of a request that asks: a poll, or numbered text if the
// channel has no poll that takes it. ahead is how many questions of the batch are not
// recorded yet.
func (b *Bridge) question(ctx context.Context, folder string, r ipc.Request, dst destination, ahead int) ([]records.Part, error) {
	if err := dst.allows(groups.ActAsk); err != nil {
		return nil, err
	}
	if err := b.mayAskMore(ctx, folder, records.PolicyQuestion, ahead, refusal.Error{Code: "too_many_questions", Hint: "wait until one is answered or over"}); err != nil {
		return nil, err
	}
	q := &records.Question{Choices: choices(r.Choices), Several: r.Several, Until: time.Now().Add(policies[records.PolicyQuestion].within)}
	if r.Seconds > 0 {
		q.Until = time.Now().Add(time.Duration(r.Seconds) * time.Second)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(q.Choices)))) != len(r.Choices) || slices.Contains(q.Choices, "") {
		return nil, &ipc.Refusal{Code: ipc.CodeWrongValue, Message: "the choices do not differ in what people see of them", Hint: "give different choices"}
	}
	parts := show(r.Text, "\n\n"+numbered(q), q, dst.limits, false)
	if len(parts) != 1 {
		return nil, &ipc.Refusal{Code: "text_too_long", Message: "the question and its choices do not fit into one message", Hint: "shorten them"}
	}
	parts[0].ReplyTo = r.ReplyTo
	return parts, nil
}

// choices returns the choices as people see them.
func choices(all []string) (clean []string) {
	for _, c := range all {
		clean = append(clean, oneLine(c))
	}
	return clean
}

// plainly returns a text without its markup.
func plainly(text string, l media.Limits) string {
	return strings.Join(markup.Parts(text, media.MarkupPlain, 0, l.Unit), "")
}

func fitsPoll(l media.Limits, text string, choices []string) bool {
	return len(choices) <= l.Poll.Choices && text != "" && l.Unit.Len(text) <= l.Poll.Question &&
		!slices.ContainsFunc(choices, func(c string) bool { return l.Unit.Len(c) > l.Poll.Choice })
}

func numbered(q *records.Question) string {
	var b strings.Builder
	for i, c := range q.Choices {
		fmt.Fprintf(&b, "%d. %s\n", i+1, c)
	}
	b.WriteString("\nAnswer with the number")
	if q.Several {
		b.WriteString(", or several with commas")
	}
	return b.String() + "."
}

// answers adds the answers to a delivery's question to its result.
func (b *Bridge) answers(ctx context.Context, d *records.Delivery, r *ipc.Result) {
	i := slices.IndexFunc(d.Parts, func(p records.Part) bool { return p.Question != nil })
	if i < 0 {
		return
	}
	answers, err := b.Outbox.Reader().Answers(ctx, d.Key)
	if err != nil { // the result is written again with the next answer, or at a start
		b.Log.Error("answers not read", "group", d.Folder, "request", d.Request, "error", err)
	}
	r.Data = report.Answers(d.Parts[i].Question, answers, !r.Status.Final() || r.Status.Reached())
}
