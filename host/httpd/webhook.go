package httpd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks 1.0.0
// (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
const (
	headerID        = "Webhook-Id"
	headerTime      = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// WebhookWindow is the largest difference between a webhook's time and this host's clock. A caller
// that remembers ids for twice as long detects every replay.
const WebhookWindow = 5 * time.Minute

// WebhookKeys sign and verify webhooks. The first key signs; all verify.
type WebhookKeys [][]byte

// ParseWebhookKeys parses secrets in the standard's form: whsec_ and the base64
// of 24 to 64 bytes. There is one secret or, during a replacement, the new one
// and the old one with a space between them. An error is permanent.
func ParseWebhookKeys(secrets string) (keys WebhookKeys, err error) {
	for secret := range strings.FieldsSeq(secrets) {
		text, ok := strings.CutPrefix(secret, "whsec_")
		k, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(k) < 24 || len(k) > 64 {
			return nil, errors.New("a secret is whsec_ and the base64 of 24 to 64 bytes")
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 || len(keys) > 2 {
		return nil, errors.New("there is one secret, or the new and the old one")
	}
	return keys, nil
}

// Sign returns the headers of a webhook with this id, which must not contain a
// full stop, and content.
func (k WebhookKeys) Sign(id string, now time.Time, content []byte) http.Header {
	at := strconv.FormatInt(now.Unix(), 10)
	return http.Header{headerID: {id}, headerTime: {at}, headerSignature: {sign(k[0], id, at, content)}}
}

func sign(key []byte, id, at string, content []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, at)
	mac.Write(content)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Webhook reads a webhook of at most most bytes. It returns the id and the content if one of the
// keys has signed them within WebhookWindow. The caller checks whether the id was seen before.
func (k WebhookKeys) Webhook(rw http.ResponseWriter, r *http.Request, most int64) (id string, content []byte, p *Problem) {
	if content, p = ReadAll(rw, r, most); p != nil {
		return "", nil, p
	}
	var err error
	if id, err = k.verify(r.Header, content, time.Now()); err != nil {
		return "", nil, Refuse(http.StatusUnauthorized, "bad_signature", err.Error(), "sign as Standard Webhooks, with the channel's secret and the present time")
	}
	return id, content, nil
}

// Neither may contain a full stop, which separates them in the signed text.
var (
	formOfID   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	formOfTime = regexp.MustCompile(`^[1-9][0-9]{0,11}$`)
)

var errUnsigned = errors.New("the request is not signed with the secret of this channel")

// verify returns the id. A sender may sign with several keys.
func (k WebhookKeys) verify(h http.Header, content []byte, now time.Time) (id string, err error) {
	id, at := h.Get(headerID), h.Get(headerTime)
	if len(h.Values(headerID)) > 1 || len(h.Values(headerTime)) > 1 || !formOfID.MatchString(id) || !formOfTime.MatchString(at) {
		return "", errUnsigned
	}
	signed := false
	for _, key := range k {
		want := []byte(sign(key, id, at, content))
		for given := range strings.FieldsSeq(h.Get(headerSignature)) {
			signed = hmac.Equal([]byte(given), want) || signed
		}
	}
	if !signed {
		return "", errUnsigned
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Unix(seconds, 0).Sub(now).Abs() > WebhookWindow {
		return "", errors.New("its webhook-timestamp is more than five minutes away from this host's clock")
	}
	return id, nil
}
