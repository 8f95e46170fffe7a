package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/httpd"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// pollSchema is a part of version 7: questions with choices. A withdrawn vote keeps its
// row, and so its voter's name.
const pollSchema = `
CREATE TABLE polls (
	message INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE,
	choices TEXT NOT NULL, -- JSON
	several INTEGER NOT NULL,
	ended   INTEGER NOT NULL DEFAULT 0,
	outcome TEXT NOT NULL DEFAULT ''
);
CREATE TABLE votes (
	message INTEGER NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
	who     TEXT NOT NULL,
	name    TEXT NOT NULL,
	choices TEXT NOT NULL, -- JSON
	PRIMARY KEY (message, who)
) WITHOUT ROWID;`

// pollColumn is a message's Poll as JSON; NULL if it has none.
const pollColumn = `(SELECT json_object('choices', json(p.choices), 'several', json(iif(p.several, 'true', 'false')), 'ended', json(iif(p.ended, 'true', 'false')), 'outcome', p.outcome,
		'votes', (SELECT json_group_array(json_object('who', v.who, 'name', v.name, 'choices', json(v.choices))) FROM votes v WHERE v.message = p.message))
		FROM polls p WHERE p.message = m.seq)`

// maxVotes is how many browsers may vote on one question.
const maxVotes = 1000

// Poll is a question with choices, and who has chosen what.
type Poll struct {
	Choices []string `json:"choices"`
	Several bool     `json:"several"` // a member may choose more than one
	Ended   bool     `json:"ended"`
	Outcome string   `json:"outcome,omitempty"` // how it ended, in words
	Votes   []Vote   `json:"votes"`
}

// Vote is what somebody has chosen.
type Vote struct {
	Who     string   `json:"who"`     // the browser's mark
	Name    string   `json:"name"`    // the one that the voter had first, with a number if it was taken
	Choices []string `json:"choices"` // none: taken back
}

// newPoll returns a question for the history.
func newPoll(p *channel.Poll, l media.PollLimit) (*Poll, error) {
	n := len(p.Choices)
	bad := n < 2 || n > l.Choices
	for i, c := range p.Choices {
		bad = bad || cleanText(c) != c || c == "" || media.Characters.Len(c) > l.Choice || slices.Contains(p.Choices[:i], c)
	}
	if bad {
		return nil, &channel.Error{Class: channel.Permanent, Code: "bad_poll",
			Message: fmt.Sprintf("a question here has 2 to %d choices, all different, each of 1 to %d characters", l.Choices, l.Choice), Hint: "ask in words"}
	}
	return &Poll{Choices: p.Choices, Several: p.Several, Votes: []Vote{}}, nil
}

func insertPoll(t *stores.Tx, m *Message) error {
	choices, err := json.Marshal(m.Poll.Choices)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO polls (message, choices, several) VALUES (?,?,?)`, m.seq, string(choices), m.Poll.Several)
	return err
}

// pollOf decodes pollColumn.
func pollOf(text string) (p *Poll) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &p) // the database has made it
		slices.SortFunc(p.Votes, func(a, b Vote) int { return strings.Compare(a.Name, b.Name) })
	}
	return p
}

// EndPoll implements channel.PollEnder: the choices can no longer be chosen, and the
// page shows below them how it ended.
func (w *Web) EndPoll(ctx context.Context, c channel.Change) error {
	outcome := media.Cut(cleanText(c.Text), maxText)
	return w.change(ctx, c, func(t *stores.Tx, seq int64) (bool, error) {
		n, err := t.Changed(`UPDATE polls SET ended = 1, outcome = ?1 WHERE message = ?2 AND (NOT ended OR outcome <> ?1)`, outcome, seq)
		return n > 0, err
	})
}

// vote returns the change of a poll by a member's choice. It refuses invalid choices, puts the
// choices into the poll's order, and sets the voter's name in a.
func (p *Poll) vote(a *act) (func(*stores.Tx, int64) (bool, error), error) {
	var chosen []string
	for _, c := range p.Choices {
		if slices.Contains(a.Choices, c) {
			chosen = append(chosen, c)
		}
	}
	i := slices.IndexFunc(p.Votes, func(v Vote) bool { return v.Who == a.Author })
	switch {
	case p.Ended:
		return nil, httpd.Refuse(http.StatusConflict, "poll_closed", "the question is closed", "")
	case len(chosen) != len(a.Choices) || len(chosen) > 1 && !p.Several:
		return nil, httpd.Refuse(http.StatusBadRequest, "bad_choice", "that cannot be chosen", "use the choices of the question, each once, and only one if several is false")
	case i < 0 && len(p.Votes) >= maxVotes:
		return nil, httpd.Refuse(http.StatusConflict, "too_many", fmt.Sprintf("%d people have voted, and no more can", maxVotes), "")
	case i >= 0:
		a.From = p.Votes[i].Name
	default:
		a.From = p.freeName(a.From)
	}
	a.Choices = chosen
	choices, err := json.Marshal(append([]string{}, chosen...))
	return func(t *stores.Tx, seq int64) (bool, error) {
		n, err := t.Changed(`INSERT INTO votes (message, who, name, choices) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (message, who) DO UPDATE SET choices = ?4 WHERE choices <> ?4`, seq, a.Author, a.From, string(choices))
		return n > 0, err
	}, err
}

// freeName distinguishes voters of the same name, because votes are shown by name.
func (p *Poll) freeName(name string) string {
	free := name
	for n := 2; slices.ContainsFunc(p.Votes, func(v Vote) bool { return v.Name == free }); n++ {
		free = cleanName(fmt.Sprintf("%s (%d)", media.Cut(name, 50), n), name)
	}
	return free
}
