package whatsapptest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCert"
	"go.mau.fi/whatsmeow/util/keys"
	"google.golang.org/protobuf/proto"
)

// rootKey is the same for every server of every process: the client's side of
// it is one variable a process, and servers come and go within one.
func rootKey() *keys.KeyPair {
	return keys.NewKeyPairFromPrivateKey(sha256.Sum256([]byte("longshore whatsapptest root")))
}

// Root is the public key that clients of this package's servers must trust.
// It is 32 bytes, fit to be passed on in hexadecimal to another process.
func Root() []byte {
	return rootKey().Pub[:]
}

// TrustRoot makes every whatsmeow client of this process trust servers whose
// chain ends in root, and no others, WhatsApp's own included. Call it once,
// before the first client connects: the variable it sets is read without a lock.
func TrustRoot(root []byte) error {
	if len(root) != len(whatsmeow.WACertPubKey) {
		return fmt.Errorf("root key has %d bytes, want %d", len(root), len(whatsmeow.WACertPubKey))
	}
	whatsmeow.WACertPubKey = [32]byte(root)
	// libsignal makes its logger at the first use, without a lock: now, while
	// nobody else does.
	sign(rootKey(), nil)
	return nil
}

// certChain signs the server's static key the way clients check it: the root
// (serial 0) signs an intermediate, the intermediate signs the leaf, and the
// leaf's key is the one of the handshake.
func certChain(static [32]byte) ([]byte, error) {
	intermediate := keys.NewKeyPair()
	middle, err := certificate(1, 0, *intermediate.Pub, rootKey())
	if err != nil {
		return nil, err
	}
	leaf, err := certificate(2, 1, static, intermediate)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&waCert.CertChain{Intermediate: middle, Leaf: leaf})
}

func certificate(serial, issuer uint32, key [32]byte, signer *keys.KeyPair) (*waCert.CertChain_NoiseCertificate, error) {
	now := time.Now()
	details, err := proto.Marshal(&waCert.CertChain_NoiseCertificate_Details{
		Serial:       proto.Uint32(serial),
		IssuerSerial: proto.Uint32(issuer),
		Key:          key[:],
		NotBefore:    proto.Uint64(uint64(now.Add(-time.Hour).Unix())),
		NotAfter:     proto.Uint64(uint64(now.Add(24 * time.Hour).Unix())),
	})
	if err != nil {
		return nil, fmt.Errorf("encode certificate %d: %w", serial, err)
	}
	return &waCert.CertChain_NoiseCertificate{Details: details, Signature: sign(signer, details)}, nil
}

// sign makes a Signal signature (XEdDSA) with an X25519 key.
func sign(signer *keys.KeyPair, message []byte) []byte {
	signature := ecc.CalculateSignature(ecc.NewDjbECPrivateKey(*signer.Priv), message)
	return signature[:]
}
