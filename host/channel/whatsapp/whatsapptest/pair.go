package whatsapptest

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// registration is what a device that wants to be paired brought along.
type registration struct {
	static   [32]byte
	identity [32]byte
	name     string
	bundle   keyBundle
	pairID   string          // of the pair-success that waits for its answer
	answered chan *wire.Node // that answer
}

// refCount is how many QR codes a client may show, one after the other,
// before it must connect again.
const refCount = 6

// register greets a device without an account: it gets refs, and makes QR
// codes of them.
func (sess *session) register(g wire.Greeting) {
	data := g.Payload.GetDevicePairingData()
	reg, err := parseRegistration(g.Static, data)
	if err != nil {
		sess.end(failure(400))
		return
	}
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	sess.reg = reg
	var refs []wire.Node
	for range refCount {
		ref := "2@" + rand.Text()
		s.refs[ref] = sess
		refs = append(refs, wire.Leaf("ref", []byte(ref)))
	}
	sess.send(wire.Parent("iq", wire.Attrs{"from": types.ServerJID, "type": "set", "xmlns": "md", "id": s.nextID()},
		wire.Parent("pair-device", nil, refs...)))
}

func parseRegistration(static [32]byte, d *waWa6.ClientPayload_DevicePairingRegistrationData) (*registration, error) {
	if len(d.GetEIdent()) != 32 || len(d.GetERegid()) != 4 || len(d.GetESkeyID()) != 3 {
		return nil, errors.New("registration is incomplete")
	}
	var props waCompanionReg.DeviceProps
	if err := proto.Unmarshal(d.GetDeviceProps(), &props); err != nil {
		return nil, err
	}
	return &registration{
		static: static, identity: [32]byte(d.GetEIdent()), name: props.GetOs(), answered: make(chan *wire.Node, 1),
		bundle: keyBundle{
			registration: d.GetERegid(), identity: d.GetEIdent(),
			signed: wire.Parent("skey", nil, wire.Leaf("id", d.GetESkeyID()), wire.Leaf("value", d.GetESkeyVal()), wire.Leaf("signature", d.GetESkeySig())),
		},
	}, nil
}

// qrLink is what newer clients put before a QR code's parts, so that a camera
// that knows nothing of linked devices opens the page that explains them. They
// also add a fifth part, the number of their platform.
const qrLink = "https://wa.me/settings/linked_devices#"

// Scan is what happens when the phone's owner holds it before a QR code. It
// returns the address of the new device once that has confirmed its pairing
// and was told to connect again.
func (p *Phone) Scan(ctx context.Context, qr string) (types.JID, error) {
	parts := strings.Split(strings.TrimPrefix(qr, qrLink), ",")
	if len(parts) != 4 && len(parts) != 5 {
		return types.EmptyJID, fmt.Errorf("qr code has %d parts, want ref, noise key, identity, secret and perhaps the platform", len(parts))
	}
	var keys [3][]byte
	for i := range keys {
		var err error
		if keys[i], err = base64.StdEncoding.DecodeString(parts[i+1]); err != nil {
			return types.EmptyJID, fmt.Errorf("read qr code: %w", err)
		}
	}
	p.srv.mu.Lock()
	sess := p.srv.refs[parts[0]]
	p.srv.mu.Unlock()
	if sess == nil {
		return types.EmptyJID, errors.New("qr code has expired")
	}
	if !slices.Equal(keys[0], sess.reg.static[:]) || !slices.Equal(keys[1], sess.reg.identity[:]) {
		return types.EmptyJID, errors.New("qr code is another device's")
	}
	return p.pair(ctx, sess, keys[2])
}

// pair makes the device on that socket one of the phone's. The device trusts
// it because of secret, which only its QR code or the phone code could tell.
func (p *Phone) pair(ctx context.Context, sess *session, secret []byte) (types.JID, error) {
	s := p.srv
	s.mu.Lock()
	p.lastID++
	d := &Device{
		owner: p, id: p.lastID, keyIndex: uint32(p.lastID), name: sess.reg.name,
		noise: sess.reg.static, bundle: sess.reg.bundle,
	}
	sess.reg.pairID = s.nextID()
	s.mu.Unlock()

	signed, err := p.vouch(sess.reg, d, secret)
	if err != nil {
		return types.EmptyJID, err
	}
	sess.send(wire.Parent("iq", wire.Attrs{"from": types.ServerJID, "type": "set", "xmlns": "md", "id": sess.reg.pairID},
		wire.Parent("pair-success", nil,
			wire.Leaf("device-identity", signed),
			wire.Parent("device", wire.Attrs{"jid": d.jid(false), "lid": d.jid(true)}),
			wire.Parent("platform", wire.Attrs{"name": "android"}))))
	select {
	case answer := <-sess.reg.answered:
		if err := p.checkSigned(sess.reg, answer); err != nil {
			return types.EmptyJID, err
		}
	case <-sess.ctx.Done():
		return types.EmptyJID, errors.New("device hung up while pairing")
	case <-ctx.Done():
		return types.EmptyJID, ctx.Err()
	}
	s.mu.Lock()
	p.devices[d.id] = d
	s.announce(d)
	s.happened()
	s.mu.Unlock()
	sess.end(streamError(515)) // connect again, this time with an account
	return d.jid(false), nil
}

// vouch is the phone's signature under the device's identity, made believable
// by an HMAC with the secret.
func (p *Phone) vouch(reg *registration, d *Device, secret []byte) ([]byte, error) {
	details, err := proto.Marshal(&waAdv.ADVDeviceIdentity{
		RawID:     proto.Uint32(uint32(d.id) + 1000),
		Timestamp: proto.Uint64(uint64(time.Now().Unix())),
		KeyIndex:  proto.Uint32(d.keyIndex),
	})
	if err != nil {
		return nil, err
	}
	message := slices.Concat(whatsmeow.AdvAccountSignaturePrefix, details, reg.identity[:])
	identity, err := proto.Marshal(&waAdv.ADVSignedDeviceIdentity{
		Details:             details,
		AccountSignatureKey: p.identity.Pub[:],
		AccountSignature:    sign(p.identity, message),
	})
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(identity)
	return proto.Marshal(&waAdv.ADVSignedDeviceIdentityHMAC{Details: identity, HMAC: mac.Sum(nil)})
}

// checkSigned reads the device's own signature, the last step of pairing.
func (p *Phone) checkSigned(reg *registration, answer *wire.Node) error {
	if wire.Text(answer, "type") != "result" {
		failed := answer.GetChildByTag("error")
		return fmt.Errorf("device refused the pairing: %s %s", wire.Text(&failed, "code"), wire.Text(&failed, "text"))
	}
	element := answer.GetChildByTag("pair-device-sign", "device-identity")
	var identity waAdv.ADVSignedDeviceIdentity
	if err := proto.Unmarshal(wire.Raw(&element), &identity); err != nil {
		return fmt.Errorf("read device identity: %w", err)
	}
	message := slices.Concat(whatsmeow.AdvDeviceSignaturePrefix, identity.GetDetails(), reg.identity[:], p.identity.Pub[:])
	if len(identity.GetDeviceSignature()) != 64 ||
		!ecc.VerifySignature(ecc.NewDjbECPublicKey(reg.identity), message, [64]byte(identity.GetDeviceSignature())) {
		return errors.New("device signature is wrong")
	}
	return nil
}

// announce tells everybody else that an account has one more device. The
// caller holds the lock.
func (s *Server) announce(d *Device) {
	var pn, lid []types.JID
	for _, each := range d.owner.linked() {
		pn, lid = append(pn, each.jid(false)), append(lid, each.jid(true))
	}
	n := wire.Parent("notification", wire.Attrs{
		"from": d.owner.JID(), "lid": d.owner.LID(), "type": "devices", "id": s.nextID(), "t": wire.Stamp(),
	}, wire.Parent("add", wire.Attrs{"device_hash": listHash(pn), "device_lid_hash": listHash(lid)},
		wire.Parent("device", wire.Attrs{"jid": d.jid(false), "lid": d.jid(true), "key-index": wire.Number(int(d.keyIndex))})))
	for _, p := range s.people {
		for _, other := range p.devices {
			if other != d {
				other.deliver(n)
			}
		}
	}
}
