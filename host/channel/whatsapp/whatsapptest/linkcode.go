package whatsapptest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/keys"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// linkAttempt is a pairing by code that waits for the phone. The device shows
// the code and the server never hears it: device and phone each encrypt a
// short-lived key under the code, agree on a secret, and prove by it that
// both know the same eight characters.
type linkAttempt struct {
	session *session
	ref     string
	wrapped []byte // salt 32, iv 16, the device's key 32
}

const (
	wrappedSize = 32 + 16 + 32
	codeRounds  = 2 << 16
	bundleInfo  = "link_code_pairing_key_bundle_encryption_key"
)

var displayName = regexp.MustCompile(`^(Chrome|Edge|Firefox|IE|Opera|Safari|Electron|UWP) \([^()]+\)$`)

// linkCode answers the two questions of a pairing by code.
func (sess *session) linkCode(n, reg *wire.Node) []wire.Node {
	s := sess.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.person(wire.Address(reg, "jid"))
	switch {
	case p == nil:
		return []wire.Node{iqError(n, 404)}
	case sess.reg == nil:
		return []wire.Node{iqError(n, 403)}
	}
	switch wire.Text(reg, "stage") {
	case "companion_hello":
		wrapped := wire.Content(reg, "link_code_pairing_wrapped_companion_ephemeral_pub")
		if len(wrapped) != wrappedSize || !displayName.Match(wire.Content(reg, "companion_platform_display")) {
			return []wire.Node{iqError(n, 400)}
		}
		p.link = &linkAttempt{session: sess, ref: rand.Text(), wrapped: wrapped}
		p.linkDone = make(chan []byte, 1)
		s.happened()
		return []wire.Node{result(n, wire.Parent("link_code_companion_reg", nil, wire.Leaf("link_code_pairing_ref", []byte(p.link.ref))))}
	case "companion_finish":
		if p.link == nil || string(wire.Content(reg, "link_code_pairing_ref")) != p.link.ref {
			return []wire.Node{iqError(n, 404)}
		}
		select {
		case p.linkDone <- wire.Content(reg, "link_code_pairing_wrapped_key_bundle"):
		default:
		}
		return []wire.Node{result(n)}
	}
	return []wire.Node{iqError(n, 400)}
}

// Asked tells whether a device waits for a code to be entered on this phone.
func (p *Phone) Asked() bool {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	return p.link != nil
}

// EnterCode is what happens when the phone's owner types the code that a
// device shows; the dash may be left out. It returns the new device's address.
// A wrong code is found out by the phone and ends the attempt.
func (p *Phone) EnterCode(ctx context.Context, code string) (types.JID, error) {
	p.srv.mu.Lock()
	link, done := p.link, p.linkDone
	p.srv.mu.Unlock()
	if link == nil {
		return types.EmptyJID, errors.New("no device asks to be linked by code")
	}
	code = strings.ToUpper(strings.ReplaceAll(code, "-", ""))
	shared, hello, err := p.primaryHello(code, link)
	if err != nil {
		return types.EmptyJID, err
	}
	defer p.unlink(link)
	link.session.send(hello)
	select {
	case bundle := <-done:
		secret, err := p.openBundle(shared, bundle, link.session.reg.identity[:])
		if err != nil {
			return types.EmptyJID, err
		}
		return p.pair(ctx, link.session, secret)
	case <-link.session.ctx.Done():
		return types.EmptyJID, errors.New("device hung up while pairing")
	case <-ctx.Done():
		return types.EmptyJID, ctx.Err()
	}
}

func (p *Phone) unlink(link *linkAttempt) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	if p.link == link {
		p.link = nil
	}
}

// primaryHello unwraps the device's key with the code and wraps the phone's.
func (p *Phone) primaryHello(code string, link *linkAttempt) (shared []byte, hello wire.Node, err error) {
	theirs, err := underCode(code, link.wrapped[:48], link.wrapped[48:])
	if err != nil {
		return nil, hello, err
	}
	ephemeral := keys.NewKeyPair()
	if shared, err = wire.Agree(ephemeral, theirs); err != nil {
		return nil, hello, err
	}
	prefix := random(48)
	wrapped, err := underCode(code, prefix, ephemeral.Pub[:])
	if err != nil {
		return nil, hello, err
	}
	p.srv.mu.Lock()
	id := p.srv.nextID()
	p.srv.mu.Unlock()
	return shared, wire.Parent("notification", wire.Attrs{
		"from": types.ServerJID, "type": "link_code_companion_reg", "id": id, "t": wire.Stamp(),
	}, wire.Parent("link_code_companion_reg", wire.Attrs{"stage": "primary_hello"},
		wire.Leaf("link_code_pairing_wrapped_primary_ephemeral_pub", slices.Concat(prefix, wrapped)),
		wire.Leaf("primary_identity_pub", p.identity.Pub[:]),
		wire.Leaf("link_code_pairing_ref", []byte(link.ref)))), nil
}

// openBundle reads what the device sealed under the agreed secret: its
// identity, the phone's, and random bytes that go into the pairing's secret.
func (p *Phone) openBundle(shared, bundle, identity []byte) ([]byte, error) {
	if len(bundle) < 44 {
		return nil, errors.New("key bundle is too short")
	}
	key, err := hkdf.Key(sha256.New, shared, bundle[:32], bundleInfo, 32)
	if err != nil {
		return nil, err
	}
	plain, err := gcmutil.Decrypt(key, bundle[32:44], bundle[44:], nil)
	if err != nil || len(plain) != 96 {
		return nil, errors.New("the code is wrong")
	}
	if !slices.Equal(plain[:32], identity) || !slices.Equal(plain[32:64], p.identity.Pub[:]) {
		return nil, errors.New("key bundle is another device's")
	}
	agreed, err := wire.Agree(p.identity, identity)
	if err != nil {
		return nil, fmt.Errorf("agree on the identities: %w", err)
	}
	return hkdf.Key(sha256.New, slices.Concat(shared, agreed, plain[64:]), nil, "adv_secret", 32)
}

// underCode is AES-CTR with a key made of the code; it is its own inverse.
// The prefix is 32 bytes of salt and 16 of counter block.
func underCode(code string, prefix, data []byte) ([]byte, error) {
	key, err := pbkdf2.Key(sha256.New, code, prefix[:32], codeRounds, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, prefix[32:48]).XORKeyStream(out, data)
	return out, nil
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
