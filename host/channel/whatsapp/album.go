package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// association returns the link of a file to its album, nil for a file of no album.
func (s *session) association(m outgoing) *waE2E.MessageAssociation {
	if m.album == "" {
		return nil
	}
	return &waE2E.MessageAssociation{
		AssociationType: waE2E.MessageAssociation_MEDIA_ALBUM.Enum(), ParentMessageKey: s.client.BuildMessageKey(m.to, types.EmptyJID, m.album),
	}
}

// parts returns the messages of an album in their order: the album, which carries the
// quote, then the files, of which the first has the text and the quote as well, for
// apps that know no albums.
func (m outgoing) parts() []outgoing {
	all, before := []outgoing{m}, int64(0)
	for i := range m.Files {
		p := m
		p.id, p.album, p.file, p.Files = compose.AlbumFileID(m.id, i), m.id, &m.Files[i], nil
		if i > 0 {
			p.Text, p.ReplyTo = "", ""
		}
		p.Attempt = channel.After(m.Attempt, before)
		before += p.file.Size
		all = append(all, p)
	}
	return all
}

// sendAlbum sends an album while it holds the lock of the album's id. It uploads and
// records all files before the first message goes, so that a file that cannot be read
// shows nothing. What an earlier attempt has sent is not sent again.
func (s *session) sendAlbum(ctx context.Context, m outgoing) (channel.Receipt, error) {
	parts := m.parts()
	sent, err := s.sentBefore(ctx, parts)
	if err != nil {
		return channel.Receipt{}, outcome.StoreFailed("read what it has sent", err)
	}
	next := slices.IndexFunc(sent, func(p *messages.Sent) bool { return p == nil || p.Acked.IsZero() })
	if next < 0 {
		return channel.Receipt{ID: m.id, Time: sent[len(sent)-1].Acked, Note: sent[0].Note}, nil
	}
	chat, err := s.mayWrite(ctx, m)
	if err != nil {
		return channel.Receipt{}, err
	}
	for i := range parts {
		if sent[i], err = s.prepared(ctx, parts[i], chat, sent[i]); err != nil {
			return channel.Receipt{}, err
		}
	}
	last := channel.Receipt{}
	for i := next; i < len(parts); i++ {
		if last.Time = sent[i].Acked; !last.Time.IsZero() {
			continue // the record of what went before it was lost
		}
		if wait := s.waitForRate(m, i, next); wait != nil {
			return channel.Receipt{}, wait
		}
		if last, err = s.deliver(ctx, parts[i], sent[i]); err != nil {
			return channel.Receipt{}, incomplete(err, i, len(m.Files))
		}
	}
	return channel.Receipt{ID: m.id, Time: last.Time, Note: sent[0].Note}, nil
}

// sentBefore returns what earlier attempts have recorded of each part, nil for nothing.
func (s *session) sentBefore(ctx context.Context, parts []outgoing) (sent []*messages.Sent, err error) {
	sent = make([]*messages.Sent, len(parts))
	for i, p := range parts {
		if sent[i], err = s.messages.FindSent(ctx, p.id); err != nil {
			return nil, err
		}
	}
	return sent, nil
}

// waitForRate returns the error of a part that must wait for the rate, or nil. The attempt's
// first message was counted before, and an album's own message counts with its first file.
func (s *session) waitForRate(m outgoing, i, next int) error {
	if i == next || i == 1 {
		return nil
	}
	if wait := s.w.pacer.Turn(m.Chat); wait > 0 {
		return outcome.TooSoon(wait)
	}
	return nil
}

// incomplete adds to the permanent error of a later part how many files members see. It ends the album: a lower form would repeat them.
func incomplete(err error, place, all int) error {
	var known *channel.Error
	if place == 0 || !errors.As(err, &known) || known.Class != channel.Permanent {
		return err
	}
	e := *known
	e.Form = ""
	if place > 1 {
		e.Message = fmt.Sprintf("%s; members see %d of the %d files", e.Message, place-1, all)
	}
	return &e
}
