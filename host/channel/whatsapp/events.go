package whatsapp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/librarylog"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/internal/cache"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// deadLine is the longest silence of a connection that does not count as lost.
const deadLine = 90 * time.Second

// handle takes the library's events. It runs on the library's receive queue, so it
// waits for nothing but a write to the journal. If it returns false, the event is
// not acknowledged, and WhatsApp delivers it again after a reconnect.
func (s *session) handle(evt any) bool {
	switch e := evt.(type) {
	case *events.Message:
		return s.recordMessage(e)
	case *events.UndecryptableMessage:
		s.noteUnread(e, time.Now())
	case *events.FBMessage:
		if m := s.newInbound(&e.Info); m.Chat != "" && !e.Info.IsFromMe {
			m.Meta.Unread = "armadillo" // as Messenger encrypts
			return s.recordUnread(m)
		}
	case *events.CallOffer:
		return s.recordCall(e.BasicCallMeta, hasVideo(e.Data))
	case *events.CallOfferNotice:
		return s.recordCall(e.BasicCallMeta, e.Media == "video")
	case *events.Receipt:
		return s.queueReceipt(e)
	case *events.MediaRetry:
		s.media.Answered(e)
	case *events.Connected:
		wake.Up(s.state.up)
	case *events.Disconnected:
		s.w.link.Down()
		wake.Up(s.state.lost)
	case *events.StreamError:
		wake.Up(s.state.lost)
	case *events.KeepAliveTimeout:
		if time.Since(e.LastSuccess) > deadLine {
			s.client.Disconnect()
			wake.Up(s.state.lost)
		}
	case *events.GroupInfo:
		s.chats.Forget(e.JID, nil)
		return s.recordMembership(e)
	case *events.JoinedGroup:
		s.chats.Forget(e.JID, nil)
	default:
		if reason := permanent(evt); reason != nil {
			s.stop(reason)
		}
	}
	return true
}

// hasVideo reports whether a call's offer is one by video.
func hasVideo(offer *waBinary.Node) bool {
	_, video := offer.GetOptionalChildByTag("video")
	return video
}

// permanent returns why WhatsApp has ended the connection for good, or nil.
func permanent(evt any) *link.Stop {
	switch e := evt.(type) {
	case *events.LoggedOut:
		more := ""
		if e.OnConnect {
			more = librarylog.Harmless(e.Reason.String())
		}
		return withDetail(stopLoggedOut, more)
	case *events.StreamReplaced:
		return withDetail(stopReplaced, "")
	case *events.ClientOutdated:
		return withDetail(stopOutdated, "")
	case *events.TemporaryBan:
		more := librarylog.Harmless(e.Code.String())
		if end := until(e.Expire, time.Now()); end != "" {
			more += ", " + end
		}
		return withDetail(stopBanned, more)
	case *events.ConnectFailure:
		return withDetail(stopRefused, librarylog.Harmless(e.Reason.String()+" "+e.Message))
	}
	return nil
}

// maxReceipts bounds the receipts that wait for the Inbox.
const maxReceipts = 4096

// receipt is a device's report about one of our messages.
type receipt struct {
	report
	src types.MessageSource // whose device, and through which chat it speaks
	at  time.Time           // by WhatsApp's clock
}

type report struct {
	id    string
	state channel.State // empty if the receipt proves only that WhatsApp has passed the message on
}

// queueReceipt returns false if the queue is full, so that WhatsApp repeats the
// receipt.
func (s *session) queueReceipt(e *events.Receipt) bool {
	if e.IsFromMe {
		return true
	}
	var state channel.State
	switch e.Type {
	case types.ReceiptTypeDelivered:
		state = channel.StateDelivered
	case types.ReceiptTypeRead, types.ReceiptTypePlayed:
		state = channel.StateRead
	case types.ReceiptTypeInactive, types.ReceiptTypeRetry:
	default:
		return true
	}
	for _, id := range e.MessageIDs {
		if !strings.HasPrefix(id, whatsmeow.WebMessageIDPrefix) {
			continue
		}
		select {
		case s.receipts <- receipt{report{id, state}, e.MessageSource, e.Timestamp}:
		default:
			return false
		}
	}
	return true
}

// give hands a member's message to the host.
func (s *session) give(ctx context.Context, in channel.Inbox, row journal.Inbound) error {
	m, err := messages.Read(&row, nil)
	if err != nil {
		return err
	}
	return in.Receive(ctx, s.inbound(ctx, m))
}

// passReceipts reports each state of a message to the host once. It believes only
// devices that the message was sent to: in a group, each device of each member
// sends receipts.
func (s *session) passReceipts(ctx context.Context, in channel.Inbox) {
	var reported cache.Map[report, bool]
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.receipts:
			if seen, _ := reported.Get(r.report); seen {
				continue
			}
			m, err := s.messages.FindSent(ctx, r.id)
			if err != nil {
				s.log.Error("look up what a device reports of", "error", err)
			}
			if m == nil || !s.chats.MayReferTo(ctx, m.Chat, r.src) {
				continue
			}
			reported.Set(r.report, true)
			if m.Acked.IsZero() {
				s.acknowledgeByReceipt(ctx, r.id, r.at)
			}
			id, err := s.messages.Completed(ctx, m)
			if err != nil {
				s.log.Error("look up the album that a device reports of", "error", err)
			}
			if r.state != "" && id != "" {
				in.Report(ctx, m.Chat, id, r.state)
			}
		}
	}
}

// recordMessage records a member's message durably; it returns false if that fails.
func (s *session) recordMessage(e *events.Message) bool {
	history := e.SourceWebMsg != nil && e.UnavailableRequestID == ""
	if e.Info.IsFromMe || e.Info.Sender.IsBot() || e.Message == nil || history {
		return true
	}
	if e.SourceWebMsg != nil { // from the account's phone; the library takes an edit for the message itself
		e.Info.ID, e.Message = e.SourceWebMsg.GetKey().GetID(), e.RawMessage
	}
	m := s.newInbound(&e.Info)
	m.Message = s.decryptInner(s.gate.Context(), e)
	d := decode.Message(m.Message, m.Meta)
	if m.Chat == "" {
		if d.Kind.IsMessage() && d.Ignored == "" {
			s.knock(e, d.Text)
		}
		return true
	}
	keep := d.Ignored == ""
	if keep && d.Kind == channel.KindVote {
		var err error
		if m.Meta.Choices, keep, err = s.vote(s.gate.Context(), m.Chat, e); err != nil {
			s.log.Error("look up what a member votes on; whatsapp will repeat it", "chat", m.Chat, "error", err)
			return false
		}
	}
	if keep && !s.record(m) {
		return false
	}
	if d.Ignored != decode.OnlyKeys {
		s.endUnread(m.Chat, m.ID)
	}
	return true
}

// newInbound returns the record of a message without its content. Its Chat is empty if the chat
// is not registered.
func (s *session) newInbound(info *types.MessageInfo) messages.Inbound {
	return messages.Inbound{
		Inbound: journal.Inbound{Chat: s.registeredChat(info.MessageSource), ID: decode.First(info.ID, decode.MaxID)}, Message: &waE2E.Message{}, // the writer's app chooses the id
		Meta: decode.Meta{
			Chat: info.Chat, Sender: info.Sender, Alt: info.SenderAlt, IsGroup: info.IsGroup,
			PushName: info.PushName, Time: info.Timestamp,
		},
	}
}

// decryptInner returns a message without the encryption by the secret of another message, if the
// device has that secret. The library panics at an IV of another length.
func (s *session) decryptInner(ctx context.Context, e *events.Message) *waE2E.Message {
	const iv = 12 // bytes
	m := e.Message
	switch r, c, x := m.GetEncReactionMessage(), m.GetEncCommentMessage(), m.GetSecretEncryptedMessage(); {
	case len(r.GetEncIV()) == iv:
		if reaction, err := s.client.DecryptReaction(ctx, e); err == nil {
			reaction.Key = r.GetTargetMessageKey()
			return &waE2E.Message{ReactionMessage: reaction}
		}
	case len(c.GetEncIV()) == iv:
		if comment, err := s.client.DecryptComment(ctx, e); err == nil {
			return &waE2E.Message{CommentMessage: &waE2E.CommentMessage{Message: comment, TargetMessageKey: c.GetTargetMessageKey()}}
		}
	case len(x.GetEncIV()) == iv:
		if change, err := s.client.DecryptSecretEncryptedMessage(ctx, e); err == nil {
			return change
		}
	}
	return m
}

// recordCall records a call to the account or to one of its groups. WhatsApp's server vouches
// only for From of a direct call: the caller's app may name somebody else as its creator.
func (s *session) recordCall(c types.BasicCallMeta, video bool) bool {
	if c.GroupJID.User == "" && c.CallCreator.ToNonAD() != c.From.ToNonAD() {
		c.CallCreator, c.CallCreatorAlt = c.From, types.EmptyJID
	}
	info := types.MessageInfo{ID: "call-" + decode.First(c.CallID, decode.MaxID), Timestamp: c.Timestamp, MessageSource: types.MessageSource{
		Chat: c.CallCreator.ToNonAD(), Sender: c.CallCreator, SenderAlt: c.CallCreatorAlt,
	}}
	if c.GroupJID.User != "" {
		info.Chat, info.IsGroup = c.GroupJID, true
	}
	m := s.newInbound(&info)
	if m.Chat == "" || s.people.IsMe(c.CallCreator) {
		return true
	}
	m.Message.CallLogMesssage = &waE2E.CallLogMessage{IsVideo: &video, CallOutcome: waE2E.CallLogMessage_ONGOING.Enum()}
	return s.record(m)
}

// knock reports a message in a chat that no group has. A direct chat is named by the number if
// it is known: an operator knows people by their number.
func (s *session) knock(e *events.Message, text string) {
	if e.Info.IsGroup {
		s.w.opts.Host.ReportUnknown(channel.UnknownChat{Chat: groups.JID(e.Info.Chat.String()), Shared: true, Text: text, Time: e.Info.Timestamp})
		return
	}
	chat := e.Info.Chat.ToNonAD()
	if alt := e.Info.SenderAlt.ToNonAD(); alt.Server == types.DefaultUserServer {
		chat = alt
	}
	if jid := groups.JID(chat.String()); s.w.Owns(jid) {
		s.w.opts.Host.ReportUnknown(channel.UnknownChat{Chat: jid, From: decode.CleanName(e.Info.PushName), Time: e.Info.Timestamp})
	}
}

// recordMembership records durably who has joined or left a group. WhatsApp gives such
// an event no id, so recordMembership derives one: a repeated event has the same id.
func (s *session) recordMembership(e *events.GroupInfo) bool {
	source := types.MessageSource{Chat: e.JID, IsGroup: true}
	m := messages.Inbound{Message: &waE2E.Message{}, Meta: decode.Meta{
		Chat: e.JID, IsGroup: true, Time: e.Timestamp, Joined: e.Join, Left: e.Leave,
	}}
	if m.Chat = s.registeredChat(source); m.Chat == "" || !m.Meta.IsMembership() {
		return true
	}
	if e.Sender != nil {
		m.Meta.Sender = *e.Sender
	}
	if e.SenderPN != nil {
		m.Meta.Alt = *e.SenderPN
	}
	news := sha256.Sum256(fmt.Append(nil, e.Timestamp.Unix(), e.ParticipantVersionID, e.Join, e.Leave))
	m.ID = hex.EncodeToString(news[:16])
	return s.record(m)
}

// record records a member's message or event durably; it returns false if that fails.
func (s *session) record(m messages.Inbound) bool {
	err := s.messages.PutInbound(s.gate.Context(), m)
	if err != nil {
		s.log.Error("a member's message could not be kept; whatsapp will repeat it", "chat", m.Chat, "error", err)
		if errors.Is(err, journal.ErrNoRoom) {
			s.state.missed.Store(true)
		}
	}
	return err == nil
}

// registeredChat returns the JID under which the chat is registered, or empty if it is not
// registered. A person may be addressed by number or by a hidden id (LID);
// registeredChat returns whichever is registered.
func (s *session) registeredChat(src types.MessageSource) groups.JID {
	candidates := []types.JID{src.Chat}
	if !src.IsGroup {
		candidates = append(candidates, src.SenderAlt.ToNonAD())
	}
	for _, c := range candidates {
		if chat := groups.JID(c.String()); s.w.Owns(chat) && s.w.isRegistered(chat) {
			return chat
		}
	}
	return ""
}
