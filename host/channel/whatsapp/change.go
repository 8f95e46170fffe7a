package whatsapp

import (
	"cmp"
	"context"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// For how long WhatsApp's apps take a change of a message. They say 15 minutes, and
// "just over 2 days"; an app that meets a later one shows nothing of it.
const (
	editWithin   = 15 * time.Minute
	unsendWithin = 48 * time.Hour
)

var (
	_ channel.Editor   = (*WhatsApp)(nil)
	_ channel.Reactor  = (*WhatsApp)(nil)
	_ channel.Unsender = (*WhatsApp)(nil)
)

// EditWithin implements channel.Editor.
func (w *WhatsApp) EditWithin() time.Duration { return editWithin }

// UnsendWithin implements channel.Unsender.
func (w *WhatsApp) UnsendWithin() time.Duration { return unsendWithin }

// Edit implements channel.Editor. The new content is the recorded message with
// another text, or with another caption.
func (w *WhatsApp) Edit(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, func(ctx context.Context, s *session, chat types.JID) (*waE2E.Message, error) {
		before, err := s.messages.Shown(ctx, c.Target)
		if err != nil {
			return nil, err
		}
		if before == nil || before.Chat != c.Chat {
			return nil, outcome.UnknownMessage()
		}
		content := proto.Clone(before.Message).(*waE2E.Message)
		content.MessageContextInfo = nil // whose secret is of the message alone
		if !compose.SetText(content, c.Text) {
			return nil, &channel.Error{Class: channel.Permanent, Code: "not_supported", Message: "WhatsApp cannot edit a message of this kind", Hint: "send a new message instead"}
		}
		return s.client.BuildEdit(chat, before.ID, content), nil
	})
}

// Unsend implements channel.Unsender: a message deleted for everybody. Of an album, each
// file is a message to delete. The deletion's id follows from the message's, so that vote
// finds it.
func (w *WhatsApp) Unsend(ctx context.Context, c channel.Change) error {
	s, inner, leave, ok := w.enter(ctx)
	if !ok {
		return cmp.Or(w.link.Held(), outcome.NotConnected(nil))
	}
	ids, err := s.messages.ShownIDs(inner, c.Target, c.Files)
	leave()
	if err != nil {
		return outcome.StoreFailed("look up the message", err)
	}
	for _, id := range ids {
		if err := w.change(ctx, channel.Change{ID: unsendID(id), Chat: c.Chat}, func(_ context.Context, s *session, chat types.JID) (*waE2E.Message, error) {
			return s.client.BuildRevoke(chat, types.EmptyJID, id), nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// unsendID is the Change.ID under which a message is deleted.
func unsendID(id string) string { return "unsend " + id }

// React implements channel.Reactor. WhatsApp needs the writer of the message, whom the journal
// has.
func (w *WhatsApp) React(ctx context.Context, c channel.Change) error {
	return w.change(ctx, c, func(ctx context.Context, s *session, chat types.JID) (*waE2E.Message, error) {
		id, writer, m, err := s.findMessage(ctx, c.Chat, c.Target)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, outcome.UnknownMessage()
		}
		return s.client.BuildReaction(chat, writer.JID, id, c.Emoji), nil
	})
}

// change sends the message that build makes, under an id that follows from the change's. A
// repeated change is the same message.
func (w *WhatsApp) change(ctx context.Context, c channel.Change, build changeBuilder) error {
	_, err := w.sendChecked(ctx, outgoing{Message: channel.Message{ID: c.ID, Chat: c.Chat}, change: build})
	return err
}

// changeBuilder makes the message that changes another one.
type changeBuilder func(ctx context.Context, s *session, chat types.JID) (*waE2E.Message, error)
