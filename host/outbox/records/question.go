package records

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// Question is what a part asks. Members' answers are recorded with the delivery and count
// as a change of it (see outbox.Outbox.NextChanges), so they survive a crash like its outcome.
type Question struct {
	Choices  []string  `json:"choices"`
	Several  bool      `json:"several,omitempty"`
	Until    time.Time `json:"until"`              // no answer counts afterwards
	Numbered bool      `json:"numbered,omitempty"` // the channel has no polls: Part.Text holds the choices
	Approval string    `json:"approval,omitempty"` // the id of the approval that it asks for; empty: it is an assistant's question
}

// Answer is a member's latest choice.
type Answer struct {
	Name    string    `json:"name"`
	Voter   string    `json:"sender_id,omitempty"`
	Choices []string  `json:"choices"`
	Time    time.Time `json:"time"`
}

// Chosen checks the choices that a platform reports; an empty list withdraws the vote.
func (q *Question) Chosen(all []string) ([]string, bool) {
	for _, c := range all {
		if !slices.Contains(q.Choices, c) {
			return nil, false
		}
	}
	return all, q.Several || len(all) <= 1
}

// Spoken finds the choices in a text: a number or a choice, or several separated by commas.
func (q *Question) Spoken(text string) (all []string, ok bool) {
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

// Outcome returns the text for members about how a question ended.
func (q *Question) Outcome(answers []Answer) string {
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

// maxVoters is how many people's answers one question keeps.
const maxVoters = 1000

// SaveAnswer records a member's answer, or takes it back if it has no choices. first reports
// whether nobody else had answered.
func SaveAnswer(t *state.Tx, delivery int64, a Answer) (first bool, err error) {
	list, err := json.Marshal(a.Choices)
	if err != nil {
		return false, err
	}
	others, err := scanIDs(t.Query(`SELECT delivery FROM vote WHERE delivery = ? AND voter <> ? LIMIT 1`, delivery, a.Voter))
	if err != nil {
		return false, err
	}
	if len(a.Choices) == 0 {
		_, err = t.Exec(`DELETE FROM vote WHERE delivery = ? AND voter = ?`, delivery, a.Voter)
		return len(others) == 0, err
	}
	_, err = t.Exec(`INSERT INTO vote (delivery, voter, name, choices, time)
		SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT count(*) FROM vote WHERE delivery = ?1 AND voter <> ?2) < ?6
		ON CONFLICT (delivery, voter) DO UPDATE SET name = ?3, choices = ?4, time = ?5 WHERE vote.time <= ?5`,
		delivery, a.Voter, a.Name, string(list), nano(a.Time), maxVoters)
	return len(others) == 0, err
}

// Questions returns the deliveries since then that ask something, and all that ask for an approval.
func (r *Reader) Questions(ctx context.Context, since time.Time) (all []*Record, err error) {
	ids, err := scanIDs(r.db.QueryContext(ctx, `SELECT DISTINCT p.delivery FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.act <> '' AND p.act LIKE '{"question"%' AND (d.created > ? OR p.act LIKE '%"approval":"%')`, nano(since)))
	for i := 0; err == nil && i < len(ids); i++ {
		var one *Record
		one, err = r.Record(ctx, ids[i])
		all = append(all, one)
	}
	return all, err
}

// QuestionReceipt returns the platform's id of a delivery's question; empty: it has none.
func (r *Reader) QuestionReceipt(ctx context.Context, delivery int64) (id string, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT receipt FROM part WHERE delivery = ? AND act <> ''`, delivery).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, ofDatabase("look for a question", err)
}
