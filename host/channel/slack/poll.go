package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/media"
)

// What Slack takes of blocks: docs.slack.dev, Block Kit. A row has 25 buttons at most.
const (
	maxChoices  = 16
	maxChoice   = 100  // characters
	maxLabel    = 75   // characters on a button
	maxQuestion = 3000 // characters of a section
	maxNotice   = 800  // characters, of which escapes make five times as many
	maxVoters   = 500  // whose votes are counted
	maxWho      = 60   // characters of the names beside a choice
)

// poll is a question that was posted, and its votes, as the journal keeps it.
type poll struct {
	ID       string            `json:"id"`       // of its Message
	Question string            `json:"question"` // plain text
	Choices  []string          `json:"choices"`
	Several  bool              `json:"several,omitzero"`
	Closed   bool              `json:"closed,omitzero"`
	Votes    map[string]ballot `json:"votes,omitempty"` // by member
}

// ballot is what a member chooses.
type ballot struct {
	Name   string `json:"name"`
	Chosen []int  `json:"chosen"` // places in Choices, ascending
	Event  string `json:"event"`  // the latest press, which comes again after a crash and counts once
}

// pollKey and pollAt are what the journal calls a poll, and the message that shows it.
func pollKey(id string) string                 { return "poll " + id }
func pollAt(chat groups.JID, ts string) string { return "poll at " + place(chat, ts) }

// keepPoll makes a question durable before it is posted.
func keepPoll(ctx context.Context, j *journal.Journal, m channel.Message) error {
	if p, err := keptPoll(ctx, j, m.Chat, m.ID); p != nil || err != nil {
		return err
	}
	return savePoll(ctx, j, m.Chat, &poll{ID: m.ID, Question: m.Text, Choices: m.Poll.Choices, Several: m.Poll.Several})
}

func savePoll(ctx context.Context, j *journal.Journal, chat groups.JID, p *poll) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a poll: %w", err)
	}
	return j.Record(ctx, journal.Sent{ID: pollKey(p.ID), Chat: chat, Body: body, Created: time.Now()})
}

// keptPoll is a question of that chat; nil if there is none.
func keptPoll(ctx context.Context, j *journal.Journal, chat groups.JID, id string) (*poll, error) {
	kept, err := j.Sent(ctx, pollKey(id))
	if err != nil || kept == nil || kept.Chat != chat {
		return nil, err
	}
	var p poll
	if err := json.Unmarshal(kept.Body, &p); err != nil {
		return nil, fmt.Errorf("decode a poll: %w", err)
	}
	return &p, nil
}

// placePoll notes which message shows a question.
func placePoll(ctx context.Context, j *journal.Journal, chat groups.JID, ts, id string) error {
	return j.Record(ctx, journal.Sent{ID: pollAt(chat, ts), Chat: chat, Body: []byte(id), Created: time.Now()})
}

// pollOf is the id of the question that a message shows; empty: none.
func pollOf(ctx context.Context, j *journal.Journal, chat groups.JID, ts string) (string, error) {
	kept, err := j.Sent(ctx, pollAt(chat, ts))
	if err != nil || kept == nil {
		return "", err
	}
	return string(kept.Body), nil
}

// A block is a part of a message in Slack's Block Kit.
type block map[string]any

func words(s string) block { return block{"type": "plain_text", "text": s, "emoji": false} }

// blocks show the question, a button for each choice while it is open, and the votes.
func (p *poll) blocks(ended string) []block {
	all := []block{{"type": "section", "text": words(p.Question)}}
	if !p.Closed {
		var buttons []block
		for i, c := range p.Choices {
			buttons = append(buttons, block{"type": "button", "action_id": pressID(p.ID, i), "text": words(media.Cut(c, maxLabel))})
		}
		all = append(all, block{"type": "actions", "elements": buttons})
	}
	for _, text := range []string{p.tally(), ended} {
		if text != "" {
			all = append(all, block{"type": "section", "text": words(media.Cut(text, maxQuestion))})
		}
	}
	return all
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// notice is what a notification says. It mentions nobody.
func (p *poll) notice() string { return escape.Replace(media.Cut(p.Question, maxNotice)) }

// metadata stays with the message for Find. A question that is not known has none.
func (p *poll) metadata() *metadata {
	if p.ID == "" {
		return nil
	}
	return &metadata{metadataType, map[string]string{"id": p.ID}}
}

// tally is how many chose what, and who; empty if nobody voted and each choice
// stands on its button.
func (p *poll) tally() string {
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
		show = show || len(names) > 0 || utf8.RuneCountInString(c) > maxLabel
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

// EndPoll implements channel.PollEnder: the buttons go, the votes stay.
func (s *Slack) EndPoll(ctx context.Context, c channel.Change) error {
	ctx, open, leave, err := s.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.changed(s.endPoll(ctx, open.Journal, c))
}

func (s *Slack) endPoll(ctx context.Context, j *journal.Journal, c channel.Change) error {
	id, err := pollOf(ctx, j, c.Chat, c.Target)
	if err != nil {
		return err
	}
	free, err := s.polls.busy.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer free()
	p, err := keptPoll(ctx, j, c.Chat, id)
	if err != nil {
		return err
	}
	if p == nil { // the journal was lost
		m, err := s.message(ctx, c)
		if err != nil {
			return err
		}
		p = &poll{Question: cmp.Or(unescape.Replace(m.Text), "…")}
	}
	p.Closed = true
	if p.ID != "" {
		if err := savePoll(ctx, j, c.Chat, p); err != nil {
			return err
		}
	}
	return s.drawPoll(ctx, c.Chat, c.Target, p, c.Text)
}

// drawPoll shows a question as it is now.
func (s *Slack) drawPoll(ctx context.Context, chat groups.JID, ts string, p *poll, ended string) error {
	var none struct{}
	return s.web.post(ctx, "chat.update", update{Channel: idOf(chat), TS: ts, Text: p.notice(), Parse: "none", Blocks: p.blocks(ended), Metadata: p.metadata()}, &none)
}
