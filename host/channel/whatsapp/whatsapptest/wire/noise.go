package wire

import (
	"context"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/socket"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// handshake is the state of Noise_XX_25519_AESGCM_SHA256: a running hash of
// everything said, which each ciphertext authenticates, a chaining key, and
// the current cipher with its counter.
type handshake struct {
	hash, chain []byte
	cipher      Cipher
}

// Cipher is AES-GCM whose nonce is eight zero bytes and a counter.
type Cipher struct {
	aead    cipher.AEAD
	counter uint32
}

func (c *Cipher) nonce() []byte {
	nonce := make([]byte, 12)
	binary.BigEndian.PutUint32(nonce[8:], c.counter)
	c.counter++
	return nonce
}

func (c *Cipher) Seal(plain, additional []byte) []byte {
	return c.aead.Seal(nil, c.nonce(), plain, additional)
}

func (c *Cipher) Open(sealed, additional []byte) ([]byte, error) {
	return c.aead.Open(nil, c.nonce(), sealed, additional)
}

func newHandshake() (*handshake, error) {
	pattern := []byte(socket.NoiseStartPattern) // 32 bytes, so it is its own hash
	h := &handshake{hash: pattern, chain: pattern}
	if err := h.rekey(pattern); err != nil {
		return nil, err
	}
	h.authenticate(socket.WAConnHeader)
	return h, nil
}

func (h *handshake) rekey(key []byte) error {
	aead, err := gcmutil.Prepare(key)
	h.cipher = Cipher{aead: aead}
	return err
}

func (h *handshake) authenticate(data []byte) {
	sum := sha256.Sum256(append(h.hash[:len(h.hash):len(h.hash)], data...))
	h.hash = sum[:]
}

func (h *handshake) encrypt(plain []byte) []byte {
	sealed := h.cipher.Seal(plain, h.hash)
	h.authenticate(sealed)
	return sealed
}

func (h *handshake) decrypt(sealed []byte) ([]byte, error) {
	plain, err := h.cipher.Open(sealed, h.hash)
	if err != nil {
		return nil, err
	}
	h.authenticate(sealed)
	return plain, nil
}

// mix brings a shared secret into the chaining key and starts a new cipher.
func (h *handshake) mix(own *keys.KeyPair, theirs []byte) error {
	secret, err := Agree(own, theirs)
	if err != nil {
		return err
	}
	chain, key, err := h.expand(secret)
	if err != nil {
		return err
	}
	h.chain = chain
	return h.rekey(key)
}

func (h *handshake) expand(secret []byte) (first, second []byte, err error) {
	both, err := hkdf.Key(sha256.New, secret, h.chain, "", 64)
	if err != nil {
		return nil, nil, err
	}
	return both[:32], both[32:], nil
}

// Agree returns the secret that X25519 makes of two keys.
func Agree(own *keys.KeyPair, theirs []byte) ([]byte, error) {
	private, err := ecdh.X25519().NewPrivateKey(own.Priv[:])
	if err != nil {
		return nil, err
	}
	public, err := ecdh.X25519().NewPublicKey(theirs)
	if err != nil {
		return nil, err
	}
	return private.ECDH(public)
}

// Greeting is what the client has sent by the end of the handshake.
type Greeting struct {
	Static  [32]byte // the key that a paired device is known by
	Payload *waWa6.ClientPayload
}

// Respond plays the server's part of the handshake:
//
//	-> client's ephemeral key
//	<- server's ephemeral key, its static key and its certificates
//	-> client's static key, and who it is
//
// The two keys that come out of it are one for each direction.
func Respond(ctx context.Context, f *Frames, static *keys.KeyPair, chain []byte) (g Greeting, in, out Cipher, err error) {
	h, err := newHandshake()
	if err != nil {
		return g, in, out, err
	}
	hello, err := readHandshake(ctx, f)
	if err != nil {
		return g, in, out, fmt.Errorf("read client hello: %w", err)
	}
	theirs := hello.GetClientHello().GetEphemeral()
	h.authenticate(theirs)

	ephemeral := keys.NewKeyPair()
	answer := &waWa6.HandshakeMessage_ServerHello{Ephemeral: ephemeral.Pub[:]}
	h.authenticate(ephemeral.Pub[:])
	if err = h.mix(ephemeral, theirs); err != nil {
		return g, in, out, err
	}
	answer.Static = h.encrypt(static.Pub[:])
	if err = h.mix(static, theirs); err != nil {
		return g, in, out, err
	}
	answer.Payload = h.encrypt(chain)
	raw, err := proto.Marshal(&waWa6.HandshakeMessage{ServerHello: answer})
	if err != nil {
		return g, in, out, err
	}
	if err = f.Write(ctx, raw); err != nil {
		return g, in, out, err
	}
	finish, err := readHandshake(ctx, f)
	if err != nil {
		return g, in, out, fmt.Errorf("read client finish: %w", err)
	}
	return h.finish(finish.GetClientFinish(), ephemeral)
}

func (h *handshake) finish(m *waWa6.HandshakeMessage_ClientFinish, ephemeral *keys.KeyPair) (g Greeting, in, out Cipher, err error) {
	static, err := h.decrypt(m.GetStatic())
	if err != nil {
		return g, in, out, fmt.Errorf("decrypt client key: %w", err)
	}
	if len(static) != 32 {
		return g, in, out, fmt.Errorf("client key has %d bytes", len(static))
	}
	g.Static = [32]byte(static)
	if err = h.mix(ephemeral, static); err != nil {
		return g, in, out, err
	}
	raw, err := h.decrypt(m.GetPayload())
	if err != nil {
		return g, in, out, fmt.Errorf("decrypt client payload: %w", err)
	}
	g.Payload = new(waWa6.ClientPayload)
	if err = proto.Unmarshal(raw, g.Payload); err != nil {
		return g, in, out, fmt.Errorf("parse client payload: %w", err)
	}
	// The client writes with the first half, so the server reads with it.
	read, write, err := h.expand(nil)
	if err != nil {
		return g, in, out, err
	}
	if in.aead, err = gcmutil.Prepare(read); err != nil {
		return g, in, out, err
	}
	out.aead, err = gcmutil.Prepare(write)
	return g, in, out, err
}

func readHandshake(ctx context.Context, f *Frames) (*waWa6.HandshakeMessage, error) {
	raw, err := f.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := new(waWa6.HandshakeMessage)
	return m, proto.Unmarshal(raw, m)
}
