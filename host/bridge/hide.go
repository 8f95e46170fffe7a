package bridge

import (
	"context"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/media"
)

// Hide hides the host's own messages from a chat's assistant: it removes a quote of one from
// a member's message, and reports whether to drop the whole, as a reaction to one. A quote
// of the assistant's own message gets the words that the assistant wrote. The vote of
// somebody outside the chat is dropped too, and reported to the chat once a question.
// Errors pass.
func (b *Bridge) Hide(ctx context.Context, chat groups.Address, m *channel.Inbound) (drop bool, err error) {
	if m.Outside {
		return true, b.tellOutside(ctx, chat, m)
	}
	if m.Quote != nil {
		if err := b.quoted(ctx, chat, m); err != nil {
			return false, err
		}
	}
	if m.Kind != channel.KindReaction {
		return false, nil
	}
	return b.byHost(ctx, chat, m.Target)
}

// mostQuoted is how many characters of its own message an assistant reads in a quote.
const mostQuoted = 2000

func (b *Bridge) quoted(ctx context.Context, chat groups.Address, m *channel.Inbound) error {
	host, err := b.byHost(ctx, chat, m.Quote.ID)
	g, ok := b.Registry().ByAddress(chat)
	switch {
	case err != nil:
		return err
	case host:
		m.Quote = nil
	case m.Quote.Own && ok:
		words, err := b.Outbox.Reader().Words(ctx, chat, g.Folder, m.Quote.ID)
		if err != nil {
			return err
		}
		if words != "" {
			quote := *m.Quote
			quote.Text = media.Cut(words, mostQuoted)
			m.Quote = &quote
		}
	}
	return nil
}

// byHost reports whether a message of the chat is the host's own.
func (b *Bridge) byHost(ctx context.Context, chat groups.Address, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	sent, err := b.Outbox.Reader().Sent(ctx, chat, groups.Asker{}, id) // the host asks
	return slices.ContainsFunc(sent, func(s records.SentPart) bool { return s.Host }), err
}

func (b *Bridge) tellOutside(ctx context.Context, chat groups.Address, m *channel.Inbound) error {
	g, ok := b.Registry().ByAddress(chat)
	if !ok {
		return nil
	}
	return b.Tell(ctx, g.Folder, m.Thread, "A vote does not count: it is not certain that its sender is in this chat. Members write something here and vote again.", "outside "+m.Target)
}
