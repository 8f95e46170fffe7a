package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// outcome is the object in Result.Data of a question.
type outcome struct {
	Words   string           `json:"words"`
	Open    bool             `json:"open"` // answers still count
	Until   time.Time        `json:"until"`
	Answers []records.Answer `json:"answers"`
	Counts  map[string]int   `json:"counts"`
}

// A result lists mostAnswers answers of maxAnswers bytes, so that it is below
// ipc.MaxData. Its counts are of all answers.
const (
	mostAnswers = 100
	maxAnswers  = ipc.MaxData * 3 / 4
)

// sizeOf returns the bytes of an answer in a result: once in the list and once in words.
func sizeOf(a records.Answer) int {
	list, _ := json.Marshal(a) // which cannot fail
	words, _ := json.Marshal(a.Name + strings.Join(a.Choices, ", "))
	return len(list) + len(words) + 20
}

// Answers returns what came of a question, for Result.Data. arrived says that the question
// may be in the chat.
func Answers(q *records.Question, answers []records.Answer, arrived bool) json.RawMessage {
	o := outcome{Open: arrived && time.Now().Before(q.Until), Until: q.Until, Answers: []records.Answer{}, Counts: map[string]int{}}
	var words []string
	for _, c := range q.Choices {
		o.Counts[c] = 0
	}
	room := maxAnswers
	for _, a := range answers {
		for _, c := range a.Choices {
			o.Counts[c]++
		}
		if room -= sizeOf(a); len(o.Answers) < mostAnswers && room > 0 {
			o.Answers = append(o.Answers, a)
			words = append(words, fmt.Sprintf("%s chose %s.", a.Name, strings.Join(a.Choices, ", ")))
		}
	}
	if len(answers) == 0 {
		words = append(words, "Nobody has answered.")
	}
	switch {
	case len(answers) > len(o.Answers):
		words = append(words, fmt.Sprintf("%d answered in all.", len(answers)))
	case o.Open:
		words = append(words, "Members may answer until "+q.Until.UTC().Format("15:04 MST")+".")
	case arrived:
		words = append(words, "The question is closed.")
	}
	o.Words = strings.Join(words, " ")
	data, _ := json.Marshal(o) // which cannot fail
	return data
}
