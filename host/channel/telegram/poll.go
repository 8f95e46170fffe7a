package telegram

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// poll is a question that was sent, in the form of the journal: an answer names neither its chat nor
// its choices.
type poll struct {
	Message string   `json:"message"`
	Thread  string   `json:"thread,omitempty"`
	Choices []string `json:"choices"`
}

// pollAnswer is a member's vote. Without options, the member takes a vote back.
type pollAnswer struct {
	Poll    string `json:"poll_id"`
	User    *user  `json:"user"`
	Chat    *chat  `json:"voter_chat"` // on whose behalf an anonymous admin votes
	Options []int  `json:"option_ids"`
}

func pollKey(id string) string { return "poll " + id }

// ask sends a question. Its text is plain.
func (t *Telegram) ask(ctx context.Context, j *journal.Journal, m channel.Message, to args) (channel.Receipt, error) {
	var options []args
	for _, c := range m.Poll.Choices {
		options = append(options, args{"text": c})
	}
	a := maps.Clone(to)
	a["question"], a["options"], a["is_anonymous"], a["allows_multiple_answers"] = m.Text, options, false, m.Poll.Several
	var all sent
	r, err := t.post(ctx, "sendPoll", a, nil, &all)
	if err != nil {
		return r, err
	}
	if p := all[0].Poll; p != nil && j != nil {
		body, _ := json.Marshal(poll{r.ID, m.Thread, m.Poll.Choices})
		if err := j.Record(ctx, journal.Sent{ID: pollKey(p.ID), Chat: m.Chat, Body: body, Created: time.Now()}); err != nil {
			t.Log.Warn("note which question was sent: its votes are lost", "error", err)
		}
	}
	return r, nil
}

// keepVote makes a vote on a question of ours durable.
func (t *Telegram) keepVote(ctx context.Context, o *bot.Open, u *update) error {
	kept, err := o.Journal.Sent(ctx, pollKey(u.Answer.Poll))
	if err != nil || kept == nil || !t.Serves(kept.Chat) {
		return err
	}
	in := vote(u, kept.Body)
	if in == nil {
		return nil
	}
	here, err := t.isPresent(ctx, kept.Chat, senderOf(in.Sender))
	if err != nil {
		return err
	}
	if in.Chat = kept.Chat; !here { // of a question, the host hears once that somebody else votes
		in.ID, in.Sender, in.Choices, in.Outside = "outside "+u.Answer.Poll, "", nil, true
	}
	return o.Keep(ctx, *in, nil)
}

// vote returns a vote for the host, without its chat; nil if no person voted.
func vote(u *update, question []byte) *channel.Inbound {
	var p poll
	who, _, ok := personOf(u.Answer.User, u.Answer.Chat, chat{})
	if json.Unmarshal(question, &p) != nil || !ok {
		return nil
	}
	in := &channel.Inbound{Kind: channel.KindVote, ID: "v" + number(u.ID), Thread: p.Thread, From: who.Name, Sender: who.Sender, Time: time.Now(), Target: p.Message}
	for _, i := range u.Answer.Options {
		if i >= 0 && i < len(p.Choices) {
			in.Choices = append(in.Choices, p.Choices[i])
		}
	}
	return in
}

// EndPoll implements channel.PollEnder. Telegram shows the result itself.
func (t *Telegram) EndPoll(ctx context.Context, c channel.Change) error {
	return webapi.Unless(t.change(ctx, c, "stopPoll", args{}), pollClosed)
}
