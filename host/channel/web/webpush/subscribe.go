package webpush

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// The bounds of a subscription. Endpoints have 150 to 600 characters.
const (
	maxBody     = 4 << 10
	maxEndpoint = 1024
	authSize    = 16 // bytes, RFC 8291 section 3.2
)

// parseSubscription parses what PushSubscription.toJSON writes (W3C Push API). The
// endpoint comes from the member and is untrusted: service decides whether it may be
// called.
func parseSubscription(body []byte) (one subscription, err error) {
	var in struct {
		Endpoint       string          `json:"endpoint"`
		ExpirationTime json.RawMessage `json:"expirationTime"`
		Keys           struct {
			P256dh string `json:"p256dh"`
			Auth   string `json:"auth"`
		} `json:"keys"`
	}
	if err := httpd.Decode(body, &in); err != nil {
		return one, errors.New("it is not JSON of the form {endpoint, keys: {p256dh, auth}}")
	}
	if len(in.Endpoint) > maxEndpoint {
		return one, errors.New("the endpoint is too long")
	}
	one.Endpoint = in.Endpoint
	decode := func(s string) []byte {
		out, failed := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
		err = errors.Join(err, failed)
		return out
	}
	one.P256dh, one.Auth = decode(in.Keys.P256dh), decode(in.Keys.Auth)
	if err != nil || len(one.Auth) != authSize {
		return one, errors.New("its keys are not base64url, or have the wrong length")
	}
	if _, err := ecdh.P256().NewPublicKey(one.P256dh); err != nil {
		return one, errors.New("p256dh is not a point of P-256")
	}
	return one, nil
}

// Subscribe adds or removes the browser that asks.
func (p *Pusher) Subscribe(rw http.ResponseWriter, r *http.Request) error {
	if p == nil {
		return httpd.Refuse(http.StatusNotFound, "push_off", "notifications of closed pages are off", "the operator turns them on: push_contact in longshore.yaml")
	}
	body, problem := httpd.ReadAll(rw, r, maxBody)
	if problem != nil {
		return problem
	}
	one, err := parseSubscription(body)
	if err != nil {
		return httpd.Refuse(http.StatusBadRequest, "bad_subscription", "the body is no push subscription: "+httpd.Quote(err.Error()), "send what the browser's PushSubscription.toJSON() gives")
	}
	if s := session.Of(r.Context()); s != nil {
		one.session = s.ID()
	}
	if r.Method == http.MethodDelete {
		err = p.remove(r.Context(), one)
	} else if find(p.services, one.Endpoint) == nil {
		return httpd.Refuse(http.StatusForbidden, "push_service", "this browser's push service is not one of the operator's list", "push_services in longshore.yaml replaces the list: the operator names its host there beside the others")
	} else {
		err = p.add(r.Context(), one)
	}
	switch {
	case errors.Is(err, errSessionOver):
		p.opts.Guard.Refuse(rw, r)
		return nil
	case errors.Is(err, errFull):
		return httpd.Refuse(http.StatusInsufficientStorage, "push_full", err.Error(), "turn notifications off in a browser that does not need them")
	case err == nil:
		rw.WriteHeader(http.StatusNoContent)
	}
	return err
}

// endpointURL parses an endpoint; nil if no service could have it.
func endpointURL(endpoint string) *url.URL {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil
	}
	return u
}
