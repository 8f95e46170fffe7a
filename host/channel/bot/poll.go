package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxVoters   = 500              // members whose votes one question counts
	maxWho      = 60               // characters of the names beside a choice
	redrawAgain = 5 * time.Second  // after a failure
	redrawTime  = 20 * time.Second // for one question
)

// Poll is a question that was posted with a button for each choice, and its votes, in the form
// of the journal.
type Poll struct {
	ID       string            `json:"id"`       // of its Message
	Question string            `json:"question"` // plain text
	Choices  []string          `json:"choices"`
	Several  bool              `json:"several,omitzero"`
	Closed   bool              `json:"closed,omitzero"`
	Votes    map[string]Ballot `json:"votes,omitempty"` // by member
}

// Ballot is a member's choice.
type Ballot struct {
	Name   string `json:"name"`
	Chosen []int  `json:"chosen"` // indexes of Choices, ascending
	Event  string `json:"event"`  // the latest press; it may come again after a crash
}

// ButtonID returns the name of a choice's button.
func ButtonID(poll string, choice int) string { return fmt.Sprintf("longshore-%s-%d", poll, choice) }

var buttonForm = regexp.MustCompile(`^longshore-([0-9a-f]{32})-(0|[1-9][0-9]?)$`)

// ButtonOf returns the poll and the choice of a button that ButtonID named; ok is false if the
// button is none of them.
func ButtonOf(id string) (poll string, choice int, ok bool) {
	m := buttonForm.FindStringSubmatch(id)
	if m == nil {
		return "", 0, false
	}
	choice, err := strconv.Atoi(m[2])
	return m[1], choice, err == nil
}

// Tally lists each choice with the number and names of its voters. It is empty if nobody voted
// and each choice fits a button of so many characters.
func (p *Poll) Tally(button int) string {
	var lines []string
	show := false
	for i, c := range p.Choices {
		var names []string
		for _, b := range p.Votes {
			if slices.Contains(b.Chosen, i) {
				names = append(names, b.Name)
			}
		}
		slices.Sort(names)
		show = show || len(names) > 0 || utf8.RuneCountInString(c) > button
		line := c + ": " + strconv.Itoa(len(names))
		if len(names) > 0 {
			line += " (" + media.Cut(strings.Join(names, ", "), maxWho) + ")"
		}
		lines = append(lines, line)
	}
	if !show {
		return ""
	}
	return strings.Join(lines, "\n")
}

// pollKey and pollAt are the journal's keys of a poll, and of the message that shows it.
func pollKey(id string) string                      { return "poll " + id }
func pollAt(chat groups.JID, message string) string { return "poll at " + string(chat) + " " + message }

// NewPoll returns the question that a message asks, without votes; nil if it asks none.
func NewPoll(m channel.Message) *Poll {
	if m.Poll == nil {
		return nil
	}
	return &Poll{ID: m.ID, Question: m.Text, Choices: m.Poll.Choices, Several: m.Poll.Several}
}

// KeepPoll makes the question of a message durable before it is posted. Of a message that
// asks none it keeps nothing.
func (o *Open) KeepPoll(ctx context.Context, m channel.Message) error {
	if m.Poll == nil {
		return nil
	}
	if p, err := o.Poll(ctx, m.Chat, m.ID); p != nil || err != nil {
		return err
	}
	return o.savePoll(ctx, m.Chat, NewPoll(m))
}

func (o *Open) savePoll(ctx context.Context, chat groups.JID, p *Poll) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a poll: %w", err)
	}
	return o.Journal.Record(ctx, journal.Sent{ID: pollKey(p.ID), Chat: chat, Body: body, Created: time.Now()})
}

// Poll returns a question of the chat; nil if there is none.
func (o *Open) Poll(ctx context.Context, chat groups.JID, id string) (*Poll, error) {
	kept, err := o.Journal.Sent(ctx, pollKey(id))
	if err != nil || kept == nil || kept.Chat != chat {
		return nil, err
	}
	var p Poll
	if err := json.Unmarshal(kept.Body, &p); err != nil {
		return nil, fmt.Errorf("decode a poll: %w", err)
	}
	return &p, nil
}

// PlacePoll records that the platform's message at shows the question of m, if m asks one.
func (o *Open) PlacePoll(ctx context.Context, m channel.Message, at string) error {
	if m.Poll == nil {
		return nil
	}
	return o.Journal.Record(ctx, journal.Sent{ID: pollAt(m.Chat, at), Chat: m.Chat, Body: []byte(m.ID), Created: time.Now()})
}

// PollOf returns the id of the question that a message shows; empty if it shows none.
func (o *Open) PollOf(ctx context.Context, chat groups.JID, message string) (string, error) {
	kept, err := o.Journal.Sent(ctx, pollAt(chat, message))
	if err != nil || kept == nil {
		return "", err
	}
	return string(kept.Body), nil
}

// Editable returns a permanent error for a message that shows a question, whose text only the
// votes change, and nil for any other message.
func (o *Open) Editable(ctx context.Context, chat groups.JID, message string) error {
	question, err := o.PollOf(ctx, chat, message)
	if err == nil && question != "" {
		return &channel.Error{Class: channel.Permanent, Code: "not_supported", Message: "a question cannot be edited", Hint: "unsend it and ask again"}
	}
	return err
}

// Polls counts votes and has their questions drawn again. NewPolls makes one.
type Polls struct {
	// Every is the time between two drawings, so that many votes are shown together.
	// NewPolls sets a second; only tests change it.
	Every time.Duration

	busy link.Keyed    // by a question's id: held while it is changed or drawn
	news chan struct{} // holds a value after stale has grown

	mu    sync.Mutex
	stale map[string]shown // by the question's id
}

// shown is the place of a question.
type shown struct {
	chat    groups.JID
	message string
}

// NewPolls returns Polls without a question.
func NewPolls() *Polls { return &Polls{Every: time.Second, news: make(chan struct{}, 1)} }

// Press is a member's press of a button.
type Press struct {
	Chat         groups.JID
	Poll         string
	Choice       int
	Member, Name string
	Event        string // unique to the press
}

// Vote counts a press and returns all that the member has chosen by then. A second press of a
// button takes its choice back. counted is false if the question is unknown or closed, or has
// 500 voters.
func (p *Polls) Vote(ctx context.Context, o *Open, v Press) (choices []string, counted bool, err error) {
	free, err := p.busy.Enter(ctx, v.Poll)
	if err != nil {
		return nil, false, err
	}
	defer free()
	q, err := o.Poll(ctx, v.Chat, v.Poll)
	if err != nil || q == nil || q.Closed || v.Choice >= len(q.Choices) {
		return nil, false, err
	}
	b, voted := q.Votes[v.Member]
	if !voted && len(q.Votes) >= maxVoters {
		return nil, false, nil
	}
	if b.Event != v.Event {
		b = Ballot{Name: cmp.Or(v.Name, v.Member), Event: v.Event, Chosen: toggled(b.Chosen, v.Choice, q.Several)}
		if q.Votes == nil {
			q.Votes = map[string]Ballot{}
		}
		q.Votes[v.Member] = b
		if err := o.savePoll(ctx, v.Chat, q); err != nil {
			return nil, false, err
		}
	}
	for _, i := range b.Chosen {
		choices = append(choices, q.Choices[i])
	}
	return choices, true, nil
}

// Receive counts a vote that comes in, and gives it to the host if it counts. at is the place of its question.
func (p *Polls) Receive(ctx context.Context, o *Open, to channel.Inbox, in channel.Inbound, poll string, choice int, at string) (err error) {
	counted := false
	in.Choices, counted, err = p.Vote(ctx, o, Press{Chat: in.Chat, Poll: poll, Choice: choice, Member: in.Sender, Name: in.From, Event: in.ID})
	if err != nil || !counted {
		return err
	}
	defer p.Changed(poll, in.Chat, at)
	return to.Receive(ctx, in)
}

func toggled(chosen []int, choice int, several bool) []int {
	switch i, there := slices.BinarySearch(chosen, choice); {
	case there:
		return slices.Delete(slices.Clone(chosen), i, i+1)
	case several:
		return slices.Insert(slices.Clone(chosen), i, choice)
	}
	return []int{choice}
}

// End closes the question that a message shows, and draws it. If the journal does not have the
// question, lost makes it from the message.
func (p *Polls) End(ctx context.Context, o *Open, chat groups.JID, message string, lost func(context.Context) (*Poll, error), draw func(context.Context, *Poll) error) error {
	id, err := o.PollOf(ctx, chat, message)
	if err != nil {
		return err
	}
	free, err := p.busy.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer free()
	q, err := o.Poll(ctx, chat, id)
	if err == nil && q == nil {
		q, err = lost(ctx)
	}
	if err != nil {
		return err
	}
	q.Closed = true
	if q.ID != "" {
		if err := o.savePoll(ctx, chat, q); err != nil {
			return err
		}
	}
	return draw(ctx, q)
}

// Changed has a question drawn again.
func (p *Polls) Changed(id string, chat groups.JID, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale == nil {
		p.stale = map[string]shown{}
	}
	p.stale[id] = shown{chat, message}
	wake.Up(p.news)
}

func (p *Polls) take() map[string]shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.stale
	p.stale = nil
	return taken
}

// Redraw draws the questions whose votes have changed, until ctx is done. A vote counts whether
// it is drawn or not. After a temporary error it draws the question again later.
func (p *Polls) Redraw(ctx context.Context, o *Open, log *slog.Logger, draw func(ctx context.Context, chat groups.JID, message string, q *Poll) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		wait := p.Every
		stale := p.take()
		for _, id := range slices.Sorted(maps.Keys(stale)) {
			at := stale[id]
			err := p.redraw(ctx, o, id, at, draw)
			if err == nil || ctx.Err() != nil {
				continue
			}
			log.Info("show the votes of a question", "error", err)
			if class := channel.ClassOf(err); class == channel.Passing || class == channel.Ambiguous {
				wait = max(wait, redrawAgain, channel.RetryAfterOf(err))
				p.Changed(id, at.chat, at.message)
			}
		}
		wake.Sleep(ctx, wait)
	}
}

func (p *Polls) redraw(ctx context.Context, o *Open, id string, at shown, draw func(ctx context.Context, chat groups.JID, message string, q *Poll) error) error {
	ctx, cancel := context.WithTimeout(ctx, redrawTime)
	defer cancel()
	free, err := p.busy.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer free()
	q, err := o.Poll(ctx, at.chat, id)
	if err != nil || q == nil || q.Closed {
		return err
	}
	return draw(ctx, at.chat, at.message, q)
}
