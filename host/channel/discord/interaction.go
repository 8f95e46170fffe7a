package discord

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// The kinds of interactions and of answers to them:
// discord.com/developers/docs/interactions/receiving-and-responding.
const (
	interactionCommand = 2
	interactionButton  = 3

	answerMessage = 4 // a message
	answerNothing = 6 // the message stays as it is

	onlyForThem = 1 << 6 // flag: nobody else sees the message
)

const (
	maxInteraction = 300             // characters of an interaction's token
	answerWithin   = 3 * time.Second // Discord's own bound
	maxAnswers     = 100             // that wait; the member of one more reads that the bot did not answer
)

// keepAct keeps a press of a button or a command like a message, and then answers it. counts
// reports whether a group has the chat.
func (g *gateway) keepAct(ctx context.Context, chat groups.JID, ev event, counts bool) error {
	switch {
	case ev.Command != "" && counts:
		ev.answer.text = "Taken: /" + ev.Command
	case ev.Command != "":
		ev.answer.text = "No assistant is in this chat."
	case ev.Poll == "": // the button is another program's
		counts = false
	}
	if counts {
		g.named(&ev, ev.guild == "")
		if err := g.store(ctx, chat, ev); err != nil {
			return err
		}
	}
	g.answer(*ev.answer)
	return nil
}

// reply is the answer to an interaction: a message that only the member who acted sees or, if text is
// empty, none.
type reply struct{ id, token, text string }

func (r reply) body() map[string]any {
	if r.text == "" {
		return map[string]any{"type": answerNothing}
	}
	return map[string]any{"type": answerMessage, "data": map[string]any{"content": r.text, "flags": onlyForThem, "allowed_mentions": nobody}}
}

// answer enqueues an answer to an interaction. It never waits.
func (d *Discord) answer(r reply) {
	select {
	case d.answers <- r:
	default:
		d.Log.Warn("too many members press buttons at once; some read that the bot did not answer")
	}
}

// sayAnswers sends the answers until ctx is done. A lost answer is only logged.
func (d *Discord) sayAnswers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-d.answers:
			within, end := context.WithTimeout(ctx, answerWithin)
			err := d.api.Ask(within, "POST", "interactions/"+r.id+"/"+r.token+"/callback", r.body(), nil)
			end()
			if err != nil && ctx.Err() == nil {
				d.Log.Info("answer a button or a command", "error", err)
			}
		}
	}
}

// command is a command as Discord has it.
type command struct {
	Name        string `json:"name"`
	Type        int    `json:"type"`
	Description string `json:"description"`
}

// offer registers those of the host's words as commands that the application does not have yet. It
// leaves the application's other commands.
func (d *Discord) offer(ctx context.Context, me *self) error {
	path := "applications/" + me.app + "/commands"
	var there []command
	if err := d.api.Ask(ctx, "GET", path, nil, &there); err != nil {
		return err
	}
	for _, w := range bot.Commands() {
		want := command{Name: w.Name, Type: 1, Description: w.Help}
		if slices.ContainsFunc(there, func(c command) bool { c.Type = cmp.Or(c.Type, 1); return c == want }) {
			continue
		}
		if err := d.api.Ask(ctx, "POST", path, want, nil); err != nil {
			return err
		}
	}
	return nil
}
