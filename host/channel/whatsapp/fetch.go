package whatsapp

import (
	"context"
	"errors"
	"io"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
)

// sentRef begins the ref of a file of ours, with its message's id behind it; quotedRef
// that of a file in a quote, with the ref of the answer behind it.
const (
	sentRef   = "sent "
	quotedRef = "quoted "
)

// Fetch downloads a member's file, or one of ours. The journal knows a message for
// 7 days and 1000 messages.
func (w *WhatsApp) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	s, ctx, leave, ok := w.enter(ctx)
	if !ok {
		return nil, unreachable(nil)
	}
	defer leave()
	if err := s.waitConnected(ctx); err != nil {
		return nil, unreachable(err)
	}
	m, err := s.byRef(ctx, f)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, channel.Unfetchable("the host does not know the message any more")
	}
	d := decode.Message(m.Message, m.Meta)
	if d.File == nil {
		return nil, channel.Unfetchable("the message holds no file")
	}
	speed := s.w.brisk
	if f.Patient {
		speed = transfer.Patient
	}
	var from *types.MessageInfo
	if m.ID != "" { // neither one of ours nor of a quote
		from = &types.MessageInfo{MessageSource: types.MessageSource{Chat: m.Meta.Chat, Sender: m.Meta.Sender, IsGroup: m.Meta.IsGroup}, ID: m.ID}
	}
	file, err := s.media.Download(ctx, d.File, d.Files[0].Info, from, speed)
	var lost *whatsmeow.DisconnectedError
	if errors.Is(err, whatsmeow.ErrNotConnected) || errors.As(err, &lost) {
		return nil, unreachable(err)
	}
	return file, err
}

// byRef looks up the message that has a file; nil if it is not known. Of one of
// ours, or of a quote, no phone can be asked for the file again.
func (s *session) byRef(ctx context.Context, f channel.FileRef) (*messages.Inbound, error) {
	if ref, quoted := strings.CutPrefix(f.Ref, quotedRef); quoted {
		m, err := messages.Read(s.messages.ByRef(ctx, f.Chat, ref))
		if err != nil || m == nil {
			return nil, err
		}
		about := decode.Message(m.Message, m.Meta).Context
		return &messages.Inbound{Message: about.GetQuotedMessage(), Meta: decode.Meta{Time: m.Meta.Time}}, nil
	}
	id, ours := strings.CutPrefix(f.Ref, sentRef)
	if !ours {
		return messages.Read(s.messages.ByRef(ctx, f.Chat, f.Ref))
	}
	m, err := s.messages.FindSent(ctx, id)
	if err != nil || m == nil || m.Chat != f.Chat {
		return nil, err
	}
	return &messages.Inbound{Message: m.Message, Meta: decode.Meta{Time: m.Created}}, nil
}

// unreachable returns the temporary error of a download without a connection.
func unreachable(err error) error {
	return &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the host is not connected to WhatsApp", Hint: channel.Again, Err: err}
}
