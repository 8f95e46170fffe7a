package whatsapp

import (
	"cmp"
	"context"
	"fmt"

	signal "go.mau.fi/libsignal/groups"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/protocol"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
)

// resend encrypts a message once more for the one device that asks for it,
// as the library's handleRetryReceipt does, but under the lock of sendSlot. The
// library encrypts in one goroutine per request, without a lock: two messages
// encrypted at the same time could get the same key, and then the device
// discarded the second message as a repeat of the first.
func (s *session) resend(ctx context.Context, asks *events.Receipt, count int, m *messages.Sent) error {
	leave, err := s.w.sendSlot.take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, s.w.sendSlot.most)
	defer cancel()

	message := m.Message
	to := waBinary.Attrs{"id": m.ID, "type": "text", "t": cmp.Or(m.Acked, m.Created).Unix(), "to": asks.Sender}
	enc := waBinary.Attrs{"count": count}
	if kind := compose.MediaTypeAttr(message); kind != "" {
		to["type"], enc["mediatype"] = "media", kind
	}
	if !asks.MessageSender.IsEmpty() {
		to["recipient"] = asks.MessageSender
	}
	if asks.IsGroup {
		to["to"], to["participant"] = asks.Chat, asks.Sender
		if message.SenderKeyDistributionMessage, err = s.senderKey(ctx, asks.Chat); err != nil {
			return err
		}
	} else {
		to["device_fanout"] = false
		if asks.IsFromMe {
			message = &waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{DestinationJID: proto.String(asks.Chat.String()), Message: message}}
		}
	}
	content, err := s.encryptFor(ctx, asks.Sender, count > 1, message, enc)
	if err != nil {
		return err
	}
	switch {
	case message.PollCreationMessage != nil:
		to["type"] = "poll"
		content = append(content, waBinary.Node{Tag: "meta", Attrs: waBinary.Attrs{"polltype": "creation"}})
	case message.ReactionMessage != nil:
		to["type"] = "reaction"
	}
	return s.client.DangerousInternals().SendNode(ctx, waBinary.Node{Tag: "message", Attrs: to, Content: content})
}

// senderKey returns the key with which members decrypt the account's messages to
// a group.
func (s *session) senderKey(ctx context.Context, group types.JID) (*waE2E.SenderKeyDistributionMessage, error) {
	name := protocol.NewSenderKeyName(group.String(), s.client.Store.GetLID().SignalAddress())
	key, err := signal.NewGroupSessionBuilder(s.client.Store, store.SignalProtobufSerializer).Create(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read the group's key: %w", err)
	}
	return &waE2E.SenderKeyDistributionMessage{GroupID: proto.String(group.String()), AxolotlSenderKeyDistributionMessage: key.Serialize()}, nil
}

// encryptFor encrypts a message for one device. It begins a new session if there
// is none with the device, or if broken says that the session may be broken.
func (s *session) encryptFor(ctx context.Context, device types.JID, broken bool, message *waE2E.Message, attrs waBinary.Attrs) ([]waBinary.Node, error) {
	plain, err := proto.Marshal(message)
	if err != nil {
		return nil, err
	}
	internals, identity := s.client.DangerousInternals(), device
	if device.Server == types.DefaultUserServer { // sessions are kept by hidden id, where that is known
		if lid, err := s.client.Store.LIDs.GetLIDForPN(ctx, device); err == nil && !lid.IsEmpty() {
			internals.MigrateSessionStore(ctx, device, lid)
			identity = lid
		}
	}
	var keys *prekey.Bundle
	if known, err := s.client.Store.ContainsSession(ctx, identity.SignalAddress()); err != nil {
		return nil, err
	} else if broken || !known {
		keys = internals.FetchPreKeysNoError(ctx, []types.JID{device})[device]
	}
	enc, first, err := internals.EncryptMessageForDevice(ctx, plain, identity, keys, attrs, nil)
	if err != nil {
		return nil, err
	}
	content := []waBinary.Node{*enc}
	if first {
		content = append(content, internals.MakeDeviceIdentityNode())
	}
	return content, nil
}
