package discord

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
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

// hostCommands are the words of the host that Discord offers as commands.
var hostCommands = []struct{ name, help string }{
	{"stop", "Stop what the assistant is doing here"},
	{"new", "Begin a new conversation with the assistant"},
	{"status", "Say who answers here, and what it is doing"},
	{"help", "Say which words the host knows"},
}

func isWord(s string) bool {
	return slices.ContainsFunc(hostCommands, func(w struct{ name, help string }) bool { return w.name == s })
}

// interaction is a member's press of a button or a command, as Discord sends it.
type interaction struct {
	ID      string  `json:"id"`
	App     string  `json:"application_id"`
	Type    int     `json:"type"`
	Token   string  `json:"token"` // a secret: with it, anybody may answer
	Guild   string  `json:"guild_id"`
	Channel string  `json:"channel_id"`
	Member  *member `json:"member"` // in a server
	User    *user   `json:"user"`   // in a direct message
	Data    struct {
		Name   string `json:"name"`      // of a command
		Button string `json:"custom_id"` // of a button
	} `json:"data"`
	Message struct {
		ID string `json:"id"` // that has the button
	} `json:"message"`
}

// by returns who acted; nil if Discord does not say.
func (i *interaction) by() *user {
	who := i.User
	if i.Member != nil {
		who = &i.Member.User
	}
	if who == nil || !isID(who.ID) || who.Bot {
		return nil
	}
	return who
}

// keepAct keeps a press of a button or a command like a message, and then answers it. counts
// reports whether a group has the chat.
func (g *gateway) keepAct(ctx context.Context, chat groups.JID, ev event, counts bool) error {
	switch {
	case ev.Command != "" && counts:
		ev.answer.say("Taken: /" + ev.Command)
	case ev.Command != "":
		ev.answer.say("No assistant is in this chat.")
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

// reply is the answer to an interaction.
type reply struct {
	id, token string
	Type      int            `json:"type"`
	Data      *privateAnswer `json:"data,omitempty"`
}

// privateAnswer is a message that only the member who acted sees.
type privateAnswer struct {
	Text    string  `json:"content"`
	Flags   int     `json:"flags"`
	Allowed allowed `json:"allowed_mentions"`
}

func (r *reply) say(text string) {
	r.Type, r.Data = answerMessage, &privateAnswer{Text: text, Flags: onlyForThem, Allowed: allowed{Parse: []string{}}}
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
			err := d.api.call(within, http.MethodPost, "interactions/"+r.id+"/"+r.token+"/callback", r, nil)
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
	if err := d.api.call(ctx, http.MethodGet, path, nil, &there); err != nil {
		return err
	}
	for _, w := range hostCommands {
		want := command{Name: w.name, Type: 1, Description: w.help}
		if slices.ContainsFunc(there, func(c command) bool { c.Type = cmp.Or(c.Type, 1); return c == want }) {
			continue
		}
		if err := d.api.call(ctx, http.MethodPost, path, want, nil); err != nil {
			return err
		}
	}
	return nil
}
