package records

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// Question is what a part asks people. Members' answers are recorded with the delivery and count
// as a change of it (see outbox.Outbox.NextChanges), so they survive a crash like its outcome.
type Question struct {
	Choices  []string  `json:"choices"`
	Several  bool      `json:"several,omitempty"`
	Until    time.Time `json:"until"`              // no answer counts afterwards
	Numbered bool      `json:"numbered,omitempty"` // it is no poll: Part.Text says how to answer
	Ask      string    `json:"ask"`                // the id of the Ask that it shows; for Put: empty if it is an assistant's question
}

// Answer is a member's latest choice.
type Answer struct {
	Name    string    `json:"name"`
	Voter   string    `json:"sender_id,omitempty"`
	Choices []string  `json:"choices"`
	Time    time.Time `json:"time"`
}

// Takes reports whether a platform may report these choices; an empty list withdraws the vote.
func (q *Question) Takes(all []string) bool {
	other := func(c string) bool { return !slices.Contains(q.Choices, c) }
	return !slices.ContainsFunc(all, other) && (q.Several || len(all) <= 1)
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

// maxVoters is how many people's answers one question keeps.
const maxVoters = 1000

// SaveAnswer records a member's answer to the question of a delivery. One without choices takes the
// member's earlier one back, and stays: platforms bring answers again, in any order. first reports
// whether nobody else had answered.
func SaveAnswer(t *state.Tx, delivery int64, a Answer) (first bool, err error) {
	list, err := json.Marshal(append([]string{}, a.Choices...))
	if err != nil {
		return false, err
	}
	others, err := scanIDs(t.Query(`SELECT delivery FROM vote WHERE delivery = ? AND voter <> ? AND choices <> '[]' LIMIT 1`, delivery, a.Voter))
	if err != nil {
		return false, err
	}
	err = t.Exec(`INSERT INTO vote (delivery, voter, name, choices, time)
		SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT count(*) FROM vote WHERE delivery = ?1 AND voter <> ?2) < ?6
		ON CONFLICT (delivery, voter) DO UPDATE SET name = ?3, choices = ?4, time = ?5 WHERE vote.time <= ?5`,
		delivery, a.Voter, a.Name, string(list), nano(a.Time), maxVoters)
	return len(others) == 0, err
}

// Answers returns the answers to a delivery's question, oldest first.
func (r *Reader) Answers(ctx context.Context, key string) (all []Answer, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT v.name, v.voter, v.choices, v.time FROM vote v JOIN delivery d ON d.id = v.delivery
		WHERE d.key = ? AND v.choices <> '[]' ORDER BY v.time, v.voter`, key)
	err = state.Each(rows, err, func() error {
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
