package whatsapp

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// reuseFor is how long an uploaded file is sent under its first upload. The
// servers keep media for weeks.
const reuseFor = 24 * time.Hour

// Send uploads the file, if any, and sends m. The receipt's id is WhatsApp's,
// derived from m.ID; a message that was acknowledged before is not sent again,
// also after a restart.
//
// Permanent are a chat of which the account is no member or in which only
// admins write, what exceeds the limits or has other bytes than were accepted,
// and what WhatsApp refuses by name. Held is everything while the account is
// not linked, banned, or outdated. Ambiguous is a message that left without an
// answer.
func (w *WhatsApp) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	to, err := types.ParseJID(string(m.Chat))
	if err != nil || !w.Owns(m.Chat) {
		return channel.Receipt{}, unknownChat(err)
	}
	out := outgoing{Message: m, to: to}
	if err := w.check(&out); err != nil {
		return channel.Receipt{}, err
	}
	if err := w.status.held(); err != nil {
		return channel.Receipt{}, err
	}
	s := w.session()
	if s == nil || !s.enter() {
		return channel.Receipt{}, notConnected(nil)
	}
	defer s.leave()
	ctx, cancel := s.until(ctx)
	defer cancel()

	out.id = messageID(m.ID)
	leave, err := w.sending.enter(ctx, out.id)
	if err != nil {
		return channel.Receipt{}, ended(ctx)
	}
	defer leave()
	return s.send(ctx, out)
}

// outgoing is a message on its way out.
type outgoing struct {
	channel.Message
	id   string // WhatsApp's
	to   types.JID
	form form
	note string
}

// check refuses what WhatsApp would not take, and decides the form.
func (w *WhatsApp) check(m *outgoing) error {
	if m.File == nil {
		if n, most := utf8.RuneCountInString(m.Text), w.opts.Limits.Text; n > most {
			return &channel.Error{Class: channel.Permanent, Code: "text_too_long",
				Message: fmt.Sprintf("the text has %d characters; whatsapp takes up to %d", n, most),
				Hint:    "split the text, or send it as a file"}
		}
		return nil
	}
	m.form, m.note = formOf(m.File.Info, w.opts.Limits)
	if m.form == formDocument {
		info := m.File.Info
		info.Kind = media.Document
		if err := w.opts.Limits.Check(w.Name(), info); err != nil {
			e := &channel.Error{Class: channel.Permanent, Message: err.Error()}
			if r, ok := err.(interface {
				Refusal() (code, message, hint string)
			}); ok {
				e.Code, e.Message, e.Hint = r.Refusal()
			}
			return e
		}
	}
	if m.Text != "" && !m.form.takesCaption() {
		return &channel.Error{Class: channel.Permanent, Code: "caption_not_taken",
			Message: "WhatsApp shows no text with " + string(m.File.Kind), Hint: "send the text as a message of its own"}
	}
	return nil
}

// send sends under the message's lock.
func (s *session) send(ctx context.Context, m outgoing) (channel.Receipt, error) {
	before, err := s.ledger.sent(ctx, m.id)
	if err != nil {
		return channel.Receipt{}, passing("store_failed", "the host cannot read what it has sent", err)
	}
	if before != nil && !before.acked.IsZero() {
		return channel.Receipt{ID: before.id, Time: before.acked, Note: before.note}, nil
	}
	if !s.connected() {
		return channel.Receipt{}, notConnected(nil)
	}
	chat, err := s.chat(ctx, m.to)
	if err != nil {
		return channel.Receipt{}, err
	}
	if err := s.w.pacer.wait(ctx, m.Chat); err != nil {
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		return channel.Receipt{}, err
	}
	if before == nil || time.Since(before.created) > reuseFor {
		before, err = s.prepare(ctx, m, chat)
		if err != nil {
			return channel.Receipt{}, err
		}
	} else if m.File != nil && m.Progress != nil {
		m.Progress(m.File.Size) // uploaded already
	}
	return s.deliver(ctx, m, before)
}

// prepare uploads and composes, and makes the result durable.
func (s *session) prepare(ctx context.Context, m outgoing, chat chatFacts) (*sentMessage, error) {
	about, note, err := s.about(ctx, m.Chat, m.ReplyTo, chat.expiration)
	if err != nil {
		return nil, passing("store_failed", "the host cannot look up what the message answers", err)
	}
	message := textMessage(m.Text, about)
	if m.File != nil {
		if message, err = s.attach(ctx, m, about); err != nil {
			return nil, err
		}
	}
	sent := &sentMessage{id: m.id, chat: m.Chat, message: message, note: joinNotes(m.note, note), created: time.Now()}
	if err := s.ledger.putSent(ctx, *sent); err != nil {
		return nil, diskFull(passing("store_failed", "the host cannot record the message", err), err)
	}
	return sent, nil
}

func (s *session) attach(ctx context.Context, m outgoing, about *waE2E.ContextInfo) (*waE2E.Message, error) {
	known := s.look(ctx, m.File, m.form)
	up, err := s.upload(ctx, m.Message, m.form.mediaType())
	if err != nil {
		return nil, err
	}
	a := attachment{file: m.File, form: m.form, caption: m.Text, facts: known, up: up, about: about, now: time.Now()}
	return a.message(), nil
}

func joinNotes(a, b string) string {
	if a != "" && b != "" {
		return a + "; " + b
	}
	return a + b
}

// deliver hands the finished message over and waits for WhatsApp's word.
func (s *session) deliver(ctx context.Context, m outgoing, sent *sentMessage) (channel.Receipt, error) {
	// The library sends one at a time under a lock that knows no context.
	select {
	case s.w.frames <- struct{}{}:
		defer func() { <-s.w.frames }()
	case <-ctx.Done():
		return channel.Receipt{}, ended(ctx)
	}
	if err := s.waitConnected(ctx); err != nil {
		return channel.Receipt{}, err
	}
	res, err := s.client.SendMessage(ctx, m.to, sent.message, whatsmeow.SendRequestExtra{ID: m.id, Timeout: s.w.opts.AckTimeout})
	if err != nil {
		err = verdict(err)
		s.forgetChat(m.to, err)
		return channel.Receipt{}, err
	}
	at := res.Timestamp
	if at.IsZero() {
		at = time.Now()
	}
	// From here on the caller's wish to stop no longer counts: it is sent.
	if err := s.ledger.ackSent(context.WithoutCancel(ctx), m.id, at); err != nil {
		s.log.Error("record an acknowledgement; a repeat would be sent again under the same id", "chat", m.Chat, "error", err)
	}
	return channel.Receipt{ID: m.id, Time: at, Note: sent.note}, nil
}
