package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// recordSize is the record size of an encrypted notification: RFC 8291 section 4
// allows no second record, and services take 4096 bytes.
const recordSize = 4096

// padded is the length of every notification before encryption, unless its text
// is longer: the length tells a push service nothing.
const padded = 1024

// tokenLife is how long a VAPID token is valid; RFC 8292 allows 24 hours.
const tokenLife = 12 * time.Hour

// sealer encrypts a notification for one browser. Its fields are random; only a test
// that compares with RFC 8291's example sets them.
type sealer struct {
	key  *ecdh.PrivateKey
	salt []byte // 16 bytes
}

func newSealer() (sealer, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	return sealer{key, salt}, err
}

// seal encrypts text as RFC 8291 (Web Push) and RFC 8188 (aes128gcm) say, in one
// record, padded to the length pad. browser and auth are the subscription's keys.
func (s sealer) seal(browser *ecdh.PublicKey, auth, text []byte, pad int) ([]byte, error) {
	shared, err := s.key.ECDH(browser)
	if err != nil {
		return nil, fmt.Errorf("encrypt a notification: %w", err)
	}
	ours := s.key.PublicKey().Bytes()
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, failed := hkdf.Key(sha256.New, secret, salt, info, n)
		if err == nil {
			err = failed
		}
		return out
	}
	secret := derive(shared, auth, "WebPush: info\x00"+string(browser.Bytes())+string(ours), 32)
	key := derive(secret, s.salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(secret, s.salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, fmt.Errorf("encrypt a notification: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("encrypt a notification: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("encrypt a notification: %w", err)
	}
	plain := append(append([]byte{}, text...), 2) // the mark of the last record
	plain = append(plain, make([]byte, max(0, pad-len(plain)))...)
	head := binary.BigEndian.AppendUint32(append([]byte{}, s.salt...), recordSize)
	head = append(append(head, byte(len(ours))), ours...)
	return gcm.Seal(head, nonce, plain, nil), nil
}

// vapid returns the value of Authorization by which a push service knows this host
// (RFC 8292): a token for the endpoint's origin, signed with the page's key.
func vapid(key *ecdsa.PrivateKey, endpoint *url.URL, contact string, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{
		"aud": endpoint.Scheme + "://" + endpoint.Host, "exp": now.Add(tokenLife).Unix(), "sub": contact,
	})
	if err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(token))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign a token for the push service: %w", err)
	}
	signature := make([]byte, 64) // RFC 7518 section 3.4
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	public, err := publicKey(key)
	return "vapid t=" + token + "." + base64.RawURLEncoding.EncodeToString(signature) + ", k=" + public, err
}

// publicKey returns the page's key as browsers and push services take it.
func publicKey(key *ecdsa.PrivateKey) (string, error) {
	public, err := key.PublicKey.ECDH()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(public.Bytes()), nil
}

func newPushKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
