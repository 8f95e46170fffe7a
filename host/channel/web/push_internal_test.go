package web

import (
	"context"
	"crypto/ecdh"
	"testing"
	"time"
)

// Seal encrypts without padding, with a given key and salt.
func Seal(key *ecdh.PrivateKey, salt []byte, browser *ecdh.PublicKey, auth, text []byte) ([]byte, error) {
	return sealer{key, salt}.seal(browser, auth, text, 0)
}

// Subscriptions is how many browsers want to be notified; -1: it cannot be read.
func Subscriptions(w *Web) int {
	all, err := w.store.allPush(context.Background())
	if err != nil {
		return -1
	}
	return len(all)
}

// ParseSubscription also says whether the endpoint is at a browser maker's service.
func ParseSubscription(body []byte) (endpoint string, known bool, err error) {
	one, err := parseSubscription(body)
	p := &pusher{}
	for _, name := range pushServices() {
		p.services = append(p.services, &pushService{host: name})
	}
	return one.Endpoint, p.service(one.Endpoint) != nil, err
}

// TestARetryDoesNotReplaceNewerNews of the same browser and chat.
func TestARetryDoesNotReplaceNewerNews(t *testing.T) {
	s := &pushService{wake: make(chan struct{}, 1)}
	old := &pushJob{to: subscription{Endpoint: "x"}, what: &pushed{Chat: "family", Text: "old"}}
	s.add(&pushJob{to: old.to, what: &pushed{Chat: "family", Text: "new"}})
	s.retry(old, time.Hour)
	if j, _ := s.next(time.Now()); j == nil || j.what.Text != "new" || len(s.waiting) != 0 {
		t.Errorf("%+v", j)
	}
	s.retry(old, time.Hour)
	if j, wait := s.next(time.Now()); j != nil || wait < 59*time.Minute {
		t.Errorf("%+v, in %s", j, wait)
	}
}
