package discord

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/media"
)

// What Discord takes of buttons: discord.com/developers/docs/components/reference. A
// message has five rows of five.
const (
	maxChoices  = 16
	maxChoice   = 100 // characters
	maxLabel    = 80  // characters on a button
	maxQuestion = 900 // characters, of which backslashes make twice as many
	perRow      = 5
	styleGrey   = 2
)

// component is a row of buttons, or a button.
type component struct {
	Type    int         `json:"type"` // 1: row, 2: button
	Style   int         `json:"style,omitzero"`
	Label   string      `json:"label,omitzero"`
	ID      string      `json:"custom_id,omitzero"`
	Buttons []component `json:"components,omitzero"`
}

// buttons returns rows with a button for each choice; none once the question is closed. The list
// is never nil, so that an edit removes old buttons.
func buttons(q *bot.Poll) []component {
	rows := []component{}
	if q.Closed {
		return rows
	}
	for i, c := range q.Choices {
		if i%perRow == 0 {
			rows = append(rows, component{Type: 1})
		}
		row := &rows[len(rows)-1]
		row.Buttons = append(row.Buttons, component{Type: 2, Style: styleGrey, Label: media.Cut(c, maxLabel), ID: bot.ButtonID(q.ID, i)})
	}
	return rows
}

var special = regexp.MustCompile("[\\\\*_~`|<>\\[\\]()#\\-+:@/.!]")

// plain puts a backslash before each character of foreign words on which Discord would act.
func plain(s string) string { return special.ReplaceAllString(s, `\$0`) }

// shown returns a question with its votes and how it ended.
func shown(q *bot.Poll, ended string) string {
	text := plain(media.Cut(q.Question, maxQuestion))
	for _, more := range []string{q.Tally(maxLabel), ended} {
		if room := (maxText - 1 - len(utf16.Encode([]rune(text)))) / 2; more != "" && room > 0 { // a character has two units at most, or a backslash
			text += "\n" + plain(media.Cut(more, room))
		}
	}
	return text
}

// EndPoll implements channel.PollEnder: the buttons go, the votes stay.
func (d *Discord) EndPoll(ctx context.Context, c channel.Change) error {
	return d.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		lost := func(ctx context.Context) (*bot.Poll, error) {
			var m message
			err := d.change(ctx, "poll", c, func(ctx context.Context, path string) error { return d.api.Ask(ctx, "GET", path, nil, &m) })
			return &bot.Poll{Question: cmp.Or(unplain.Replace(media.Cut(m.Text, maxQuestion)), "…")}, err
		}
		return d.polls.End(ctx, open, c.Chat, c.Target, lost, func(ctx context.Context, q *bot.Poll) error {
			return d.drawPoll(ctx, c, q)
		})
	})
}

// unplain undoes plain.
var unplain = strings.NewReplacer(`\\`, `\`, `\`, "")

// drawPoll shows a question as it is now; c.Text is how it ended.
func (d *Discord) drawPoll(ctx context.Context, c channel.Change, q *bot.Poll) error {
	return d.change(ctx, "poll", c, func(ctx context.Context, path string) error {
		return d.api.Ask(ctx, "PATCH", path, map[string]any{"content": shown(q, c.Text), "allowed_mentions": nobody, "components": buttons(q)}, nil)
	})
}

// redraw shows votes until ctx is done.
func (d *Discord) redraw(ctx context.Context, o *bot.Open) {
	d.polls.Redraw(ctx, o, d.Log, func(ctx context.Context, chat groups.JID, at string, q *bot.Poll) error {
		thread, id, _ := strings.Cut(at, "/")
		return d.drawPoll(ctx, channel.Change{Chat: chat, Thread: thread, Target: id}, q)
	})
}
