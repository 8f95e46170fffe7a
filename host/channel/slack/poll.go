package slack

import (
	"cmp"
	"context"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/media"
)

// What Slack takes of blocks: docs.slack.dev, Block Kit. A row has 25 buttons at most.
const (
	maxChoice   = 100  // characters
	maxLabel    = 75   // characters on a button
	maxQuestion = 3000 // characters of a section
	maxNotice   = 800  // characters, of which escapes make five times as many
)

// block is a part of a message in Slack's Block Kit.
type block map[string]any

func words(s string) block { return block{"type": "plain_text", "text": s, "emoji": false} }

// poll is a question as Slack shows it.
type poll struct{ *bot.Poll }

// blocks returns the question, a button for each choice while it is open, and the votes.
func (p poll) blocks(ended string) []block {
	all := []block{{"type": "section", "text": words(p.Question)}}
	if !p.Closed {
		var buttons []block
		for i, c := range p.Choices {
			buttons = append(buttons, block{"type": "button", "action_id": bot.ButtonID(p.ID, i), "text": words(media.Cut(c, maxLabel))})
		}
		all = append(all, block{"type": "actions", "elements": buttons})
	}
	for _, text := range []string{p.Tally(maxLabel), ended} {
		if text != "" {
			all = append(all, block{"type": "section", "text": words(media.Cut(text, maxQuestion))})
		}
	}
	return all
}

// notice returns the text of the notification. It mentions nobody.
func (p poll) notice() string { return decode.Escape(media.Cut(p.Question, maxNotice)) }

// EndPoll implements channel.PollEnder: the buttons go, the votes stay.
func (s *Slack) EndPoll(ctx context.Context, c channel.Change) error {
	return s.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		lost := func(ctx context.Context) (*bot.Poll, error) {
			m, err := s.message(ctx, c)
			if err != nil {
				return nil, err
			}
			return &bot.Poll{Question: cmp.Or(decode.Unescape(m.Text), "…")}, nil
		}
		return s.changed(s.polls.End(ctx, open, c.Chat, c.Target, lost, func(ctx context.Context, q *bot.Poll) error {
			return s.drawPoll(ctx, c.Chat, c.Target, q, c.Text)
		}))
	})
}

// drawPoll updates the message of a question.
func (s *Slack) drawPoll(ctx context.Context, chat groups.JID, ts string, q *bot.Poll, ended string) error {
	p := poll{q}
	u := update(decode.IDOf(chat), ts, p.notice(), p.blocks(ended)...)
	if p.ID != "" {
		u["metadata"] = metadata(p.ID)
	}
	return s.api.Post(ctx, "chat.update", u, nil)
}
