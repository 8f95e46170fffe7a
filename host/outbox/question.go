package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

// Question is what a part asks. Members' answers are recorded with the delivery and count
// as a change of it (see Next), so they survive a crash like its outcome.
type Question struct {
	Choices  []string  `json:"choices"`
	Several  bool      `json:"several,omitempty"`
	Until    time.Time `json:"until"`              // no answer counts afterwards
	Numbered bool      `json:"numbered,omitempty"` // the channel has no polls: Part.Text holds the choices
	Approval string    `json:"approval,omitempty"` // the id of the approval that it asks for; empty: it is an assistant's question
}

// maxVoters is how many people's answers one question keeps.
const maxVoters = 1000

// Answer is a member's latest choice.
type Answer struct {
	Name    string    `json:"name"`
	Voter   string    `json:"sender_id,omitempty"`
	Choices []string  `json:"choices"`
	Time    time.Time `json:"time"`
}

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
	Question
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
func (o *Outbox) ask(it *item) {
	for i := range it.Parts {
		if q := it.Parts[i].Question; q != nil {
			o.questions[it.id] = &asked{*q, it.id, it.Key, it.Folder, it.Address(), it.Thread, it.Created}
			signal(o.asking)
		}
	}
}

// recoverQuestions loads the questions of the last two days. It ends the questions that
// are past their time, even if they were ended before. Those about approvals may be older.
func (o *Outbox) recoverQuestions(ctx context.Context) error {
	ids, err := scanIDs(o.state.QueryContext(ctx, `SELECT DISTINCT p.delivery FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.act <> '' AND p.act LIKE '{"question"%' AND (d.created > ? OR p.act LIKE '%"approval":"%')`, nano(time.Now().Add(-48*time.Hour))))
	if err != nil {
		return err
	}
	for _, id := range ids {
		it, err := o.reader.byID(ctx, id)
		if err != nil {
			return err
		}
		o.ask(it)
	}
	return nil
}

// Vote records an answer to an open question of the chat. It returns nil if the vote
// answers no question. Errors pass.
func (o *Outbox) Vote(ctx context.Context, chat groups.Address, v Vote) (*Counted, error) {
	q, choices, target, err := o.questionOf(ctx, chat, &v)
	if q == nil || err != nil {
		return nil, err
	}
	list, err := json.Marshal(choices)
	if err != nil {
		return nil, err
	}
	first := false
	err = o.state.Do(ctx, func(t *state.Tx) error {
		others, err := scanIDs(t.Query(`SELECT delivery FROM vote WHERE delivery = ? AND voter <> ? LIMIT 1`, q.id, v.Voter))
		if err != nil {
			return err
		}
		if first = len(others) == 0; len(choices) == 0 {
			_, err := t.Exec(`DELETE FROM vote WHERE delivery = ? AND voter = ?`, q.id, v.Voter)
			return err
		}
		_, err = t.Exec(`INSERT INTO vote (delivery, voter, name, choices, time)
			SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT count(*) FROM vote WHERE delivery = ?1 AND voter <> ?2) < ?6
			ON CONFLICT (delivery, voter) DO UPDATE SET name = ?3, choices = ?4, time = ?5 WHERE vote.time <= ?5`,
			q.id, v.Voter, v.Name, string(list), nano(v.Time), maxVoters)
		return err
	}, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changes.add(q.folder, q.id, markNew)
	})
	if err != nil {
		return nil, ofDatabase("record a vote", err)
	}
	return &Counted{q.created, target, first, choices}, nil
}

// questionOf finds the newest question that a vote answers, and the choices.
func (o *Outbox) questionOf(ctx context.Context, chat groups.Address, v *Vote) (_ *asked, choices []string, target string, err error) {
	open, early := o.openIn(chat)
	for _, q := range open {
		var receipt string
		err := o.state.QueryRowContext(ctx, `SELECT receipt FROM part WHERE delivery = ? AND act <> ''`, q.id).Scan(&receipt)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, nil, "", ofDatabase("look for a question", err)
		}
		switch {
		case receipt == "": // members do not see it yet, or never
		case v.Poll != "" && v.Poll == receipt:
			choices, ok := q.chosen(v.Choices)
			if !ok {
				return nil, nil, "", nil
			}
			return q, choices, receipt, nil
		case v.Poll == "" && q.Numbered && (v.ReplyTo == receipt || v.ReplyTo == "" && v.Thread == q.thread):
			if choices, ok := q.said(v.Text); ok {
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
			early = early || slices.ContainsFunc(it.Parts, func(p Part) bool {
				unrecorded := p.Attempts > 0 && !p.Next.After(now) // its outcome may be on its way to the disk
				return p.State == Sending || p.State == Queued && (unrecorded || !p.Doubt.IsZero() && now.Sub(p.Doubt) < time.Minute)
			})
		}
	}
	slices.SortFunc(open, func(a, b *asked) int { return cmp.Compare(b.id, a.id) })
	return open, early
}

// chosen checks the choices that a platform reports; an empty list withdraws the vote.
func (q *Question) chosen(all []string) ([]string, bool) {
	for _, c := range all {
		if !slices.Contains(q.Choices, c) {
			return nil, false
		}
	}
	return all, q.Several || len(all) <= 1
}

// said finds the choices in a text: a number or a choice, or several separated by commas.
func (q *Question) said(text string) (all []string, ok bool) {
	words := []string{text}
	if q.Several {
		words = strings.Split(text, ",")
	}
	for _, w := range words {
		w = strings.TrimRight(strings.TrimSpace(w), ".)")
		i, err := strconv.Atoi(w)
		if err != nil || i > len(q.Choices) || strconv.Itoa(i) != w { // a choice may be a number, such as a year
			i = 1 + slices.IndexFunc(q.Choices, func(c string) bool { return strings.EqualFold(strings.TrimRight(strings.TrimSpace(c), ".)"), w) })
		}
		if i < 1 || i > len(q.Choices) {
			return nil, false
		}
		if c := q.Choices[i-1]; !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all, len(all) > 0
}

// Answers returns the answers to a delivery's question, oldest first.
func (r *Reader) Answers(ctx context.Context, key string) (all []Answer, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT v.name, v.voter, v.choices, v.time FROM vote v JOIN delivery d ON d.id = v.delivery
		WHERE d.key = ? ORDER BY v.time, v.voter`, key)
	err = each(rows, err, func() error {
		var a Answer
		var list string
		var at int64
		if err := rows.Scan(&a.Name, &a.Voter, &list, &at); err != nil {
			return err
		}
		a.Time = fromNano(at)
		all = append(all, a)
		return json.Unmarshal([]byte(list), &all[len(all)-1].Choices)
	})
	return all, ofDatabase("read answers", err)
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
	o.changes.add(q.folder, q.id, markNew)
	ch := o.line(q.address.Channel).ch
	o.mu.Unlock()
	if _, ends := ch.(channel.PollEnder); !ends || q.Numbered {
		return false, nil
	}
	it, err := o.reader.byID(ctx, q.id)
	if err != nil {
		return !errors.Is(err, ErrNotFound), err
	}
	answers, err := o.reader.Answers(ctx, q.key)
	if err != nil {
		return true, err
	}
	i := slices.IndexFunc(it.Parts, func(p Part) bool { return p.Question != nil })
	if !it.Parts[i].State.sent() {
		return it.Parts[i].State.open(), nil
	}
	sum := sha256.Sum256([]byte(q.key + " end"))
	err = o.Put(ctx, []Delivery{{
		Key: hex.EncodeToString(sum[:16]), Folder: q.folder, Channel: q.address.Channel, Chat: q.address.JID, Thread: q.thread,
		Parts: []Part{{Text: q.outcome(answers), Act: &Act{Verb: VerbEndPoll, Target: it.Parts[i].Receipt.ID, Sent: it.Parts[i].Receipt.Time}}},
	}})
	return err != nil, err
}

// outcome returns the text for members about how a question ended.
func (q *Question) outcome(answers []Answer) string {
	if len(answers) == 0 {
		return "Closed. Nobody answered."
	}
	var counts []string
	for _, c := range q.Choices {
		n := 0
		for _, a := range answers {
			if slices.Contains(a.Choices, c) {
				n++
			}
		}
		counts = append(counts, fmt.Sprintf("%s: %d", c, n))
	}
	return "Closed. " + strings.Join(counts, ", ") + "."
}
