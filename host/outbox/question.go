package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/changes"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Vote is a member's action that may answer a question: a choice in a poll, or a message.
type Vote struct {
	Poll    string // the platform's id of the poll; empty: the member wrote Text
	Choices []string
	Text    string
	ReplyTo string // the message that the text replies to; may be empty
	Thread  string
	Voter   string // stable for one person
	Name    string
	Time    time.Time
}

// Counted is a vote that was recorded.
type Counted struct {
	Asked   time.Time // when the question was accepted
	Target  string    // the platform's id of the question
	First   bool      // nobody else had answered it
	Choices []string
}

// errTooEarly passes: the vote arrived before the answer to the Send of its question.
var errTooEarly = errors.New("a question of this chat is still on its way")

// asked is a question that takes answers. It is immutable; Outbox.mu guards the map that
// holds it.
type asked struct {
	records.Question
	id      int64
	key     string
	folder  string
	address groups.Address
	thread  string
	created time.Time
}

// OpenQuestions counts a group's questions that take answers.
func (o *Outbox) OpenQuestions(folder string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, q := range o.questions {
		if q.folder == folder && q.Approval == "" {
			n++
		}
	}
	return n
}

// ask registers a delivery's question. The caller holds mu, or is Open.
func (o *Outbox) ask(it *records.Record) {
	for i := range it.Parts {
		if q := it.Parts[i].Question; q != nil {
			o.questions[it.ID] = &asked{*q, it.ID, it.Key, it.Folder, it.Address(), it.Thread, it.Created}
			signal(o.asking)
		}
	}
}

// recoverQuestions loads the questions of the last two days. It ends the questions that
// are past their time, even if they were ended before. Those about approvals may be older.
func (o *Outbox) recoverQuestions(ctx context.Context) error {
	found, err := o.reader.Questions(ctx, time.Now().Add(-48*time.Hour))
	for _, r := range found {
		o.ask(r)
	}
	return err
}

// Vote records an answer to an open question of the chat. It returns nil if the vote
// answers no question. Errors pass.
func (o *Outbox) Vote(ctx context.Context, chat groups.Address, v Vote) (*Counted, error) {
	q, choices, target, err := o.questionOf(ctx, chat, &v)
	if q == nil || err != nil {
		return nil, err
	}
	first := false
	err = o.state.Do(ctx, func(t *state.Tx) (err error) {
		first, err = records.SaveAnswer(t, q.id, records.Answer{Name: v.Name, Voter: v.Voter, Choices: choices, Time: v.Time})
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changes.Add(q.folder, q.id, changes.New)
	})
	if err != nil {
		return nil, fmt.Errorf("record a vote: %w", store.Words(err))
	}
	return &Counted{q.created, target, first, choices}, nil
}

// questionOf finds the newest question that a vote answers, and the choices.
func (o *Outbox) questionOf(ctx context.Context, chat groups.Address, v *Vote) (_ *asked, choices []string, target string, err error) {
	open, early := o.openIn(chat)
	for _, q := range open {
		receipt, err := o.reader.QuestionReceipt(ctx, q.id)
		if err != nil {
			return nil, nil, "", err
		}
		switch {
		case receipt == "": // members do not see it yet, or never
		case v.Poll != "" && v.Poll == receipt:
			choices, ok := q.Chosen(v.Choices)
			if !ok {
				return nil, nil, "", nil
			}
			return q, choices, receipt, nil
		case v.Poll == "" && q.Numbered && (v.ReplyTo == receipt || v.ReplyTo == "" && v.Thread == q.thread):
			if choices, ok := q.Spoken(v.Text); ok {
				return q, choices, receipt, nil
			}
		}
	}
	if v.Poll != "" && early {
		err = errTooEarly
	}
	return nil, nil, "", err
}

// openIn returns the chat's questions that take answers, newest first. early reports
// whether a question may have just appeared in the chat without a known id. A question
// that is only queued does not count: it would hold up the chat's votes in other polls.
func (o *Outbox) openIn(chat groups.Address) (open []*asked, early bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, q := range o.questions {
		if q.address != chat || !now.Before(q.Until) {
			continue
		}
		open = append(open, q)
		if it := o.live[q.id]; it != nil {
			early = early || slices.ContainsFunc(it.Parts, func(p records.Part) bool {
				unrecorded := p.Attempts > 0 && !p.Next.After(now) // its outcome may be on its way to the disk
				return p.State == records.Sending || p.State == records.Queued && (unrecorded || !p.Doubt.IsZero() && now.Sub(p.Doubt) < time.Minute)
			})
		}
	}
	slices.SortFunc(open, func(a, b *asked) int { return cmp.Compare(b.id, a.id) })
	return open, early
}

// endQuestions ends questions that are past their time, until ctx is done.
func (o *Outbox) endQuestions(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-o.asking:
		}
		var next time.Time
		var over []*asked
		o.mu.Lock()
		for id, q := range o.questions {
			switch {
			case !time.Now().Before(q.Until):
				over = append(over, q)
				delete(o.questions, id)
			case next.IsZero() || q.Until.Before(next):
				next = q.Until
			}
		}
		o.mu.Unlock()
		for _, q := range over {
			if q.Approval != "" { // its end is that of the approval
				continue
			}
			again, err := o.endQuestion(ctx, q)
			if err != nil {
				o.opts.Log.Error("question not ended", "group", q.folder, "error", err)
			}
			if again {
				o.endLater(q)
				next = time.Now().Add(time.Minute)
			}
		}
		if !next.IsZero() { // a clock that was set back is noticed within a minute
			timer.Reset(min(time.Until(next), time.Minute))
		}
	}
}

// endLater retries a question whose end could not be shown yet.
func (o *Outbox) endLater(q *asked) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.questions[q.id] = q
}

// endQuestion shows on the platform how a question ended, and reports it to the assistant.
// The caller calls it again later if the question is not sent yet, or after most errors.
func (o *Outbox) endQuestion(ctx context.Context, q *asked) (again bool, err error) {
	o.mu.Lock()
	o.changes.Add(q.folder, q.id, changes.New)
	ch := o.line(q.address.Channel).channel()
	o.mu.Unlock()
	if _, ends := ch.(channel.PollEnder); !ends || q.Numbered {
		return false, nil
	}
	it, err := o.reader.Record(ctx, q.id)
	if err != nil {
		return !errors.Is(err, records.ErrNotFound), err
	}
	answers, err := o.reader.Answers(ctx, q.key)
	if err != nil {
		return true, err
	}
	i := slices.IndexFunc(it.Parts, func(p records.Part) bool { return p.Question != nil })
	if !it.Parts[i].State.Sent() {
		return it.Parts[i].State.Open(), nil
	}
	sum := sha256.Sum256([]byte(q.key + " end"))
	err = o.Put(ctx, []records.Delivery{{
		Key: hex.EncodeToString(sum[:16]), Folder: q.folder, Channel: q.address.Channel, Chat: q.address.JID, Thread: q.thread,
		Parts: []records.Part{{Text: q.Outcome(answers), Act: &records.Act{Verb: records.VerbEndPoll, Target: it.Parts[i].Receipt.ID, Sent: it.Parts[i].Receipt.Time}}},
	}})
	return err != nil, err
}

// ApprovalAsked returns the id of the approval that the chat's poll asks for, and the
// choices that a vote in it names; empty: the poll asks for none. Errors pass: the question
// may still be on its way.
func (o *Outbox) ApprovalAsked(ctx context.Context, chat groups.Address, poll string, choices []string) (id string, chosen []string, err error) {
	q, chosen, _, err := o.questionOf(ctx, chat, &Vote{Poll: poll, Choices: choices})
	if q == nil || err != nil {
		return "", nil, err
	}
	return q.Approval, chosen, nil
}
