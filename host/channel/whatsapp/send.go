package whatsapp

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
	"github.com/longshore-bridge/longshore/media/probe"
)

// reuseFor is how long a later attempt uses the upload of an earlier one. The servers keep
// media for weeks.
const reuseFor = 24 * time.Hour

// Send uploads the files, if any, and sends m. Several files go as an album. The receipt's id is
// WhatsApp's, derived from m.ID. A message that was acknowledged before is not sent again, even
// after a restart.
//
// An error is Permanent if the account is not a member of the chat or may not
// write there, if the message exceeds the limits, if the file's bytes are not
// those that were accepted, and if WhatsApp rejects the message. It is Held while
// the account is not linked, banned, or outdated. It is Ambiguous if the message
// has left and no answer came.
func (w *WhatsApp) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	out := outgoing{Message: m}
	if err := w.check(&out); err != nil && w.Owns(m.Chat) {
		return channel.Receipt{}, err
	}
	return w.sendChecked(ctx, out)
}

// sendChecked sends a message that check has accepted, or a change.
func (w *WhatsApp) sendChecked(ctx context.Context, out outgoing) (channel.Receipt, error) {
	var err error
	if out.to, err = types.ParseJID(string(out.Chat)); err != nil || !w.Owns(out.Chat) {
		return channel.Receipt{}, outcome.UnknownChat(err)
	}
	if err := w.link.Held(); err != nil {
		return channel.Receipt{}, err
	}
	s, ctx, leave, ok := w.enter(ctx)
	if !ok {
		return channel.Receipt{}, outcome.NotConnected(nil)
	}
	defer leave()

	out.id = compose.MessageID(out.ID)
	unlock, err := w.sending.Enter(ctx, out.id)
	if err != nil {
		return channel.Receipt{}, outcome.Cancelled(ctx)
	}
	defer unlock()
	if len(out.Files) > 1 {
		return s.sendAlbum(ctx, out)
	}
	return s.send(ctx, out)
}

// outgoing is a message to send.
type outgoing struct {
	channel.Message
	id   string // WhatsApp's
	to   types.JID
	file *channel.File // nil for a text, and for an album: that has several Files
	note string

	album string // the id of the album that file belongs to; empty: none

	change changeBuilder // makes a message that changes another one; nil: this is a message to be seen
}

// check rejects a message that WhatsApp would not take.
func (w *WhatsApp) check(m *outgoing) error {
	if len(m.Files) == 1 {
		// An earlier version of the host may have accepted a file in a kind in which
		// the apps do not show it, or one that is too large for today's limits.
		f := m.Files[0]
		if fit, err := w.opts.Limits.Fit(outcome.Platform, f.Info); err == nil {
			m.note = strings.TrimPrefix(strings.TrimPrefix(fit.Note, f.Note), "; ")
			f.Info = fit
		}
		m.file, m.Files = &f, []channel.File{f}
	}
	if err := channel.Check(w.Name(), m.Message, w.opts.Limits); err != nil {
		return err
	}
	switch {
	case len(m.Files) > 1:
		return compose.CheckAlbum(m.Files)
	case m.Poll != nil:
		return compose.CheckPoll(m.Message, w.opts.Limits)
	case m.file != nil && m.Text != "" && w.opts.Limits.Kinds[m.file.Kind].Caption == 0:
		return &channel.Error{Class: channel.Permanent, Code: "caption_not_taken",
			Message: "WhatsApp shows no text with " + string(m.file.Kind), Hint: "send the text as a message of its own"}
	}
	return nil
}

// send sends a message while it holds the lock of that message's id.
func (s *session) send(ctx context.Context, m outgoing) (channel.Receipt, error) {
	before, err := s.messages.FindSent(ctx, m.id)
	if err != nil {
		return channel.Receipt{}, outcome.StoreFailed("read what it has sent", err)
	}
	if before != nil && !before.Acked.IsZero() {
		return channel.Receipt{ID: before.ID, Time: before.Acked, Note: before.Note}, nil
	}
	chat, err := s.mayWrite(ctx, m)
	if err != nil {
		return channel.Receipt{}, err
	}
	if before, err = s.prepared(ctx, m, chat, before); err != nil {
		return channel.Receipt{}, err
	}
	return s.deliver(ctx, m, before)
}

// mayWrite returns the chat's facts, or an error if no message can go to the chat now. It does
// not wait for the rate.
func (s *session) mayWrite(ctx context.Context, m outgoing) (directory.Facts, error) {
	if !s.connected() {
		return directory.Facts{}, outcome.NotConnected(nil)
	}
	chat, err := s.chats.Writable(ctx, m.to)
	if err != nil {
		return directory.Facts{}, err
	}
	if wait := s.w.pacer.Turn(m.Chat); wait > 0 {
		return directory.Facts{}, outcome.TooSoon(wait)
	}
	return chat, nil
}

// prepared returns the recorded message: that of an earlier attempt, or a new one.
func (s *session) prepared(ctx context.Context, m outgoing, chat directory.Facts, before *messages.Sent) (*messages.Sent, error) {
	if before == nil || before.Acked.IsZero() && time.Since(before.Created) > reuseFor {
		return s.prepare(ctx, m, chat, before)
	}
	if m.file != nil {
		m.Progress(m.file.Size) // uploaded already
	}
	return before, nil
}

// prepare uploads the file, builds the message, and records it durably. before is
// the message of an earlier attempt, or nil; its secret is used again.
func (s *session) prepare(ctx context.Context, m outgoing, chat directory.Facts, before *messages.Sent) (*messages.Sent, error) {
	if m.change != nil {
		return s.prepareChange(ctx, m, before)
	}
	info, err := s.contextInfo(ctx, m, chat)
	if err != nil {
		return nil, err
	}
	message, err := s.content(ctx, m, info)
	if err != nil {
		return nil, err
	}
	message.MessageContextInfo = &waE2E.MessageContextInfo{MessageSecret: secretOf(before), MessageAssociation: s.association(m)}
	sent := &messages.Sent{Message: message, Sent: journal.Sent{ID: m.id, Chat: m.Chat, Note: m.note, Created: time.Now()}}
	if err := s.messages.PutSent(ctx, *sent); err != nil {
		return nil, transfer.OrDiskFull(outcome.StoreFailed("record the message", err), err)
	}
	return sent, nil
}

// prepareChange is prepare for a message that changes another one. The message is built once: a
// repeat sends the same message.
func (s *session) prepareChange(ctx context.Context, m outgoing, before *messages.Sent) (*messages.Sent, error) {
	if before != nil {
		return before, nil
	}
	message, err := m.change(ctx, s, m.to)
	if err != nil {
		if _, ok := errors.AsType[*channel.Error](err); ok {
			return nil, err
		}
		return nil, outcome.StoreFailed("look up the message", err)
	}
	sent := &messages.Sent{Message: message, Sent: journal.Sent{ID: m.id, Chat: m.Chat, Created: time.Now()}}
	if err := s.messages.PutSent(ctx, *sent); err != nil {
		return nil, transfer.OrDiskFull(outcome.StoreFailed("record the change", err), err)
	}
	return sent, nil
}

// secretOf returns the secret of a message's earlier attempt, or a new secret. The
// members' apps derive keys from it for votes, edits and the like; WhatsApp Web
// gives every message a secret of 32 bytes.
func secretOf(before *messages.Sent) []byte {
	if before != nil {
		if secret := before.Message.GetMessageContextInfo().GetMessageSecret(); len(secret) > 0 {
			return secret
		}
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// content builds what members see; info may be nil.
func (s *session) content(ctx context.Context, m outgoing, info *waE2E.ContextInfo) (*waE2E.Message, error) {
	switch {
	case m.file != nil:
		return s.attach(ctx, m, info)
	case len(m.Files) > 1:
		return compose.Album(m.Files, info), nil
	case m.Poll != nil:
		return compose.Poll(m.Text, m.Poll, info), nil
	}
	return compose.Text(m.Text, info), nil
}

func (s *session) attach(ctx context.Context, m outgoing, info *waE2E.ContextInfo) (*waE2E.Message, error) {
	known := s.probeFile(ctx, m.file)
	up, err := s.media.Upload(ctx, m.file, m.Progress)
	if err != nil {
		return nil, err
	}
	a := compose.Attachment{File: m.file, Caption: m.Text, Facts: known, Upload: up, Context: info, Now: time.Now()}
	return a.Message(), nil
}

// probeFile reads what the members' apps show of a file before they download it.
func (s *session) probeFile(ctx context.Context, f *channel.File) probe.Facts {
	src, err := f.Open()
	if err != nil {
		return probe.Facts{} // the upload meets the same error, and returns it
	}
	defer src.Close()
	return s.probe.Read(ctx, src, f.Kind, f.MIME)
}
