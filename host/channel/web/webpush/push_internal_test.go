package webpush

import (
	"crypto/ecdh"
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func text(s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// TestANotificationIsEncryptedAsRFC8291Does takes the example of its appendix A.
func TestANotificationIsEncryptedAsRFC8291Does(t *testing.T) {
	key, err := ecdh.P256().NewPrivateKey(text("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	browser, err := ecdh.P256().NewPublicKey(text("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := sealer{key, text("DGv6ra1nlYgDCS1FRnbzlw")}.seal(browser, text("BTBZMqHH6r4Tts7J_aSIgg"), []byte("When I grow up, I want to be a watermelon"), 0)
	want := "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if err != nil || base64.RawURLEncoding.EncodeToString(got) != want {
		t.Errorf("%s, error %v", base64.RawURLEncoding.EncodeToString(got), err)
	}
}

// TestARetryDoesNotReplaceNewerNews of the same browser and chat.
func TestARetryDoesNotReplaceNewerNews(t *testing.T) {
	s := &service{wake: make(chan struct{}, 1)}
	old := &job{to: subscription{Endpoint: "x"}, what: &notice{Chat: "family", Text: "old"}}
	s.add(&job{to: old.to, what: &notice{Chat: "family", Text: "new"}})
	s.retry(old, time.Hour)
	if j, _ := s.next(time.Now()); j == nil || j.what.Text != "new" || len(s.waiting) != 0 {
		t.Errorf("%+v", j)
	}
	s.retry(old, time.Hour)
	if j, wait := s.next(time.Now()); j != nil || wait < 59*time.Minute {
		t.Errorf("%+v, in %s", j, wait)
	}
}

// FuzzASubscription: no endpoint but one at a browser maker's service is called.
func FuzzASubscription(f *testing.F) {
	f.Add([]byte(`{"endpoint":"https://web.push.apple.com/x","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`))
	f.Add([]byte(`{"endpoint":"https://x/","keys":{}}`))
	services := servicesOf(browserServices())
	f.Fuzz(func(t *testing.T, body []byte) {
		one, err := parseSubscription(body)
		known := find(services, one.Endpoint) != nil
		if err == nil && (len(one.Endpoint) > 1024 || known && !strings.HasPrefix(one.Endpoint, "https://") && !strings.HasPrefix(one.Endpoint, "HTTPS://")) {
			t.Errorf("%q is taken", one.Endpoint)
		}
	})
}
