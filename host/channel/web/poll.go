package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/media"
)

// maxVotes is how many browsers may vote on one question.
const maxVotes = 1000

// newPoll returns a question for the history.
func newPoll(p *channel.Poll, l media.PollLimit) (*history.Poll, error) {
	n := len(p.Choices)
	bad := n < 2 || n > l.Choices
	for i, c := range p.Choices {
		bad = bad || cleanText(c) != c || c == "" || media.Characters.Len(c) > l.Choice || slices.Contains(p.Choices[:i], c)
	}
	if bad {
		return nil, &channel.Error{Class: channel.Permanent, Code: "bad_poll",
			Message: fmt.Sprintf("a question here has 2 to %d choices, all different, each of 1 to %d characters", l.Choices, l.Choice), Hint: "ask in words"}
	}
	return &history.Poll{Choices: p.Choices, Several: p.Several, Votes: []history.Vote{}}, nil
}

// EndPoll implements channel.PollEnder: the choices can no longer be chosen, and the
// page shows below them how it ended.
func (w *Web) EndPoll(ctx context.Context, c channel.Change) error {
	outcome := media.Cut(cleanText(c.Text), maxText)
	return w.change(ctx, c, func(m *history.Message) bool {
		if m.Poll == nil || m.Poll.Ended && m.Poll.Outcome == outcome {
			return false
		}
		m.Poll.Ended, m.Poll.Outcome = true, outcome
		return true
	})
}

// vote returns the change of a poll by a member's choice. It refuses invalid choices, puts the
// choices into the poll's order, and sets the voter's name in a.
func vote(p *history.Poll, a *act) (func(*history.Message) bool, error) {
	var chosen []string
	for _, c := range p.Choices {
		if slices.Contains(a.Choices, c) {
			chosen = append(chosen, c)
		}
	}
	i := p.Voter(a.Author)
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
		a.From = freeName(p, a.From)
	}
	a.Choices = chosen
	v := history.Vote{Who: a.Author, Name: a.From, Choices: append([]string{}, chosen...)}
	return func(m *history.Message) bool {
		i := m.Poll.Voter(v.Who)
		if i < 0 {
			m.Poll.Votes = append(m.Poll.Votes, v)
			slices.SortStableFunc(m.Poll.Votes, func(a, b history.Vote) int { return strings.Compare(a.Name, b.Name) })
			return true
		}
		same := slices.Equal(m.Poll.Votes[i].Choices, v.Choices)
		m.Poll.Votes[i] = v
		return !same
	}, nil
}

// freeName distinguishes voters of the same name, because votes are shown by name.
func freeName(p *history.Poll, name string) string {
	free := name
	for n := 2; slices.ContainsFunc(p.Votes, func(v history.Vote) bool { return v.Name == free }); n++ {
		free = cleanName(fmt.Sprintf("%s (%d)", media.Cut(name, 50), n), name)
	}
	return free
}
