package whatsapp_test

import (
	"testing"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/session"
	"go.mau.fi/libsignal/util/optional"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/util/keys"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// withPhone gives the channel a Signal session with the account's own phone, as
// it has one when the phone has written to it.
func (w *world) withPhone() {
	w.t.Helper()
	client := w.ch.Client()
	own, one := keys.NewKeyPair(), keys.NewKeyPair()
	signed := own.CreateSignedPreKey(1)
	bundle := prekey.NewBundle(1, 0, optional.NewOptionalUint32(1), 1, ecc.NewDjbECPublicKey(*one.Pub),
		ecc.NewDjbECPublicKey(*signed.Pub), *signed.Signature, identity.NewKey(ecc.NewDjbECPublicKey(*own.Pub)))
	phone := w.bot.LID()
	if err := client.DangerousInternals().ClearUntrustedIdentity(w.t.Context(), phone); err != nil {
		w.t.Fatal(err)
	}
	if err := session.NewBuilderFromSignal(client.Store, phone.SignalAddress(), store.SignalProtobufSerializer).ProcessBundle(w.t.Context(), bundle); err != nil {
		w.t.Fatal(err)
	}
}

// garble lets Anna send what nobody can decrypt.
func (w *world) garble() {
	w.t.Helper()
	err := w.anna.Client.DangerousInternals().SendNode(soon(w.t), waBinary.Node{
		Tag:     "message",
		Attrs:   waBinary.Attrs{"id": w.anna.Client.GenerateMessageID(), "to": waJID(family), "type": "text"},
		Content: []waBinary.Node{{Tag: "enc", Attrs: waBinary.Attrs{"type": "skmsg", "v": "2"}, Content: []byte("no ciphertext at all")}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// The library asked the account's phone for a message that it could not decrypt,
// and with that acknowledgement lost the account neither sent nor received for 75
// seconds.
func TestAMessageThatCannotBeDecryptedHoldsNoChatBack(t *testing.T) {
	w := newWorld(t).hurried()
	w.send(text(work, "so that all is known"))
	w.withPhone()
	lost := w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.LoseAck, Phone: botNumber, Chat: w.bot.JID()})
	w.garble()
	<-lost.Hit()
	since := time.Now()
	if _, err := w.anna.SendText(soon(t), waJID(work), "hello"); err != nil {
		t.Fatal(err)
	}
	w.send(text(work, "and on it goes"))
	w.until("the other chat's message is in", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return len(w.in.got) > 0
	})
	if took := time.Since(since); took > 40*time.Second { // on the busiest machine
		t.Errorf("another chat waited for %v", took)
	}
}
