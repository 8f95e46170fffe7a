package bridge

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// mostSent is how many deliveries are searched for those of one turn.
const mostSent = 200

// SentFiles names the files that a group's assistant has sent with its tools to a thread of its
// own chat since the time, oldest first: those that have arrived, and those under way. A text
// has an empty name. What failed is left out.
func (b *Bridge) SentFiles(folder, thread string, since time.Time) (arrived, underWay []string, err error) {
	g, ok := b.Registry().ByFolder(folder)
	if !ok {
		return nil, nil, nil
	}
	found, err := b.Outbox.List(context.Background(), records.Filter{Folder: folder, Limit: mostSent})
	if err != nil {
		return nil, nil, err
	}
	for _, d := range slices.Backward(found) {
		if d.Request == "" || d.Thread != thread || d.Address() != g.Address() || d.Created.Before(since) {
			continue
		}
		for i := range d.Parts {
			switch p := &d.Parts[i]; p.State {
			case records.Queued, records.Sending, records.Pending, records.Waiting:
				underWay = append(underWay, sentNames(p)...)
			case records.Sent, records.Delivered, records.Read:
				arrived = append(arrived, sentNames(p)...)
			}
		}
	}
	return arrived, underWay, nil
}

// sentNames names the files of a part; a part without files has one empty name.
func sentNames(p *records.Part) (names []string) {
	for _, f := range p.Files {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		names = []string{""}
	}
	return names
}

// Vote takes a message or vote that may answer a question of the group's assistant. question
// is the platform's id of the question that it answers, empty if it answers none; waited says
// that the tool which asked still waits for the answer. Errors pass.
func (b *Bridge) Vote(ctx context.Context, chat groups.Address, in channel.Inbound, voter string) (question string, choices []string, waited bool, err error) {
	a, err := b.Outbox.Asked(ctx, chat, &in)
	if errors.Is(err, records.ErrNotFound) || err == nil && (!policies[a.Policy].everybody || !a.Open(time.Now())) {
		return "", nil, false, nil
	}
	if err != nil {
		return "", nil, false, err
	}
	first, err := b.Outbox.Vote(ctx, a, records.Answer{Name: in.From, Voter: voter, Choices: in.Choices, Time: in.Time})
	return a.Shown.ID, in.Choices, first && time.Since(a.Made) < b.Wait(), err
}
