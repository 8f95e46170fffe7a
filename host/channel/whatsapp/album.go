package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// An album is a message without content, which says how many pictures and videos
// follow, and then a message for each of them, which names the album. The album's id
// is that of the Receipt. Members' apps show and know the files; older apps show
// each file alone.

// maxAlbum is how many files an album has. The apps take more; so many go at once at
// the default rates.
const maxAlbum = 10

// albumKind is the media.Limit.Album of what may be in an album.
const albumKind = "pictures and videos"

// albumFile returns the id of a file of an album, counted from 0.
func albumFile(album string, place int) string {
	return messageID(album + " " + strconv.Itoa(place))
}

// albumMessage builds the message before the files; info may be nil.
func albumMessage(files []channel.File, info *waE2E.ContextInfo) *waE2E.Message {
	a := &waE2E.AlbumMessage{ExpectedImageCount: new(uint32), ExpectedVideoCount: new(uint32), ContextInfo: info}
	for _, f := range files {
		if f.Kind == media.Video {
			*a.ExpectedVideoCount++
		} else {
			*a.ExpectedImageCount++
		}
	}
	return &waE2E.Message{AlbumMessage: a}
}

// filesOf is how many files an album has; 0 if the message is none.
func filesOf(m *waE2E.Message) int {
	return int(m.GetAlbumMessage().GetExpectedImageCount() + m.GetAlbumMessage().GetExpectedVideoCount())
}

// association names the album that a file belongs to; nil if it belongs to none.
func (s *session) association(m outgoing) *waE2E.MessageAssociation {
	if m.album == "" {
		return nil
	}
	return &waE2E.MessageAssociation{
		AssociationType: waE2E.MessageAssociation_MEDIA_ALBUM.Enum(), ParentMessageKey: s.client.BuildMessageKey(m.to, types.EmptyJID, m.album),
	}
}

// checkAlbum rejects files that the apps show in no album.
func checkAlbum(files []channel.File) error {
	if !slices.ContainsFunc(files, func(f channel.File) bool { return f.Kind != media.Image && f.Kind != media.Video || f.Loop }) {
		return nil
	}
	return &channel.Error{Class: channel.Permanent, Code: "too_many_files",
		Message: "WhatsApp shows only pictures and videos together", Hint: "send the files one by one"}
}

// parts returns the messages of an album in their order: the album, which carries the
// quote, then the files, of which the first has the text and the quote as well, for
// apps that know no albums.
func (m outgoing) parts() []outgoing {
	all, before := []outgoing{m}, int64(0)
	for i := range m.Files {
		p := m
		p.id, p.album, p.file, p.Files = albumFile(m.id, i), m.id, &m.Files[i], nil
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
		return channel.Receipt{}, passing("store_failed", "the host cannot read what it has sent", err)
	}
	next := slices.IndexFunc(sent, func(p *sentMessage) bool { return p == nil || p.Acked.IsZero() })
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
		if wait := s.albumTurn(m, i, next); wait != nil {
			return channel.Receipt{}, wait
		}
		if last, err = s.deliver(ctx, parts[i], sent[i]); err != nil {
			return channel.Receipt{}, incomplete(err, i, len(m.Files))
		}
	}
	return channel.Receipt{ID: m.id, Time: last.Time, Note: sent[0].Note}, nil
}

// sentBefore returns what earlier attempts have recorded of each part, nil for nothing.
func (s *session) sentBefore(ctx context.Context, parts []outgoing) (sent []*sentMessage, err error) {
	sent = make([]*sentMessage, len(parts))
	for i, p := range parts {
		if sent[i], err = s.ledger.sent(ctx, p.id); err != nil {
			return nil, err
		}
	}
	return sent, nil
}

// albumTurn is the error of a file that has to wait for the rate. The attempt's first
// message has had its turn, and the album shares that of its first file.
func (s *session) albumTurn(m outgoing, i, next int) error {
	if i == next || i == 1 {
		return nil
	}
	if wait := s.w.pacer.Turn(m.Chat); wait > 0 {
		return tooSoon(wait)
	}
	return nil
}

// incomplete says of a permanent error of the message at a place, which is not the album's
// first, how many files members see. It ends the album: a lower form would repeat them.
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

// receiptID is the id of the Receipt of which a recorded message is a part.
func (m *sentMessage) receiptID() string {
	if album := m.message.GetMessageContextInfo().GetMessageAssociation().GetParentMessageKey().GetID(); album != "" {
		return album
	}
	return m.ID
}

// shown returns the recorded message that members see of a Receipt's id: of an album,
// the first file. It is nil if it is not recorded.
func (l ledger) shown(ctx context.Context, id string) (*sentMessage, error) {
	m, err := l.sent(ctx, id)
	if err != nil || m == nil || m.message.AlbumMessage == nil {
		return m, err
	}
	return l.sent(ctx, albumFile(id, 0))
}

// whole returns the id to report if a device has reported on that message, or empty: of
// an album, only the last file counts, since it goes last.
func (l ledger) whole(ctx context.Context, m *sentMessage) (string, error) {
	id := m.receiptID()
	if id == m.ID && m.message.AlbumMessage == nil {
		return id, nil
	}
	album, err := l.sent(ctx, id)
	if err != nil || album == nil || albumFile(id, filesOf(album.message)-1) != m.ID {
		return "", err
	}
	return id, nil
}

// shownIDs returns the ids of all messages that belong to a Receipt's id, which may
// have files. If the host does not know the message any more, it may be the largest album.
func (l ledger) shownIDs(ctx context.Context, id string, files bool) (ids []string, err error) {
	m, err := l.sent(ctx, id)
	if err != nil {
		return nil, err
	}
	n := 0
	if m != nil {
		n = filesOf(m.message)
	} else if files {
		n = maxAlbum
	}
	for i := range n {
		ids = append(ids, albumFile(id, i))
	}
	return append(ids, id), nil
}
