package httpd

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	newSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQQ=="
)

func keysOf(t testing.TB, secrets string) WebhookKeys {
	t.Helper()
	keys, err := ParseWebhookKeys(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// The example of the libraries of github.com/standard-webhooks/standard-webhooks.
func TestAWebhookIsSignedAsTheStandardSays(t *testing.T) {
	h := keysOf(t, newSecret).Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got, want := h.Get("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signed as %s, want %s", got, want)
	}
}

func TestOnlyOneOrTwoSecretsOfTheStandardAreTaken(t *testing.T) {
	for secrets, good := range map[string]bool{
		newSecret: true, newSecret + " " + oldSecret: true, "": false, strings.TrimPrefix(newSecret, "whsec_"): false, "whsec_": false,
		"whsec_c2hvcnQ=": false, "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)): false, "whsec_not base64": false,
		newSecret + " " + oldSecret + " " + oldSecret: false,
	} {
		if _, err := ParseWebhookKeys(secrets); (err == nil) != good {
			t.Errorf("%q: %v", secrets, err)
		}
	}
}

func TestAWebhookThatIsNotSignedNowIsRefused(t *testing.T) {
	now, body := time.Unix(1_700_000_000, 0), []byte("{}")
	mine := keysOf(t, newSecret+" "+oldSecret)
	at := func(d time.Duration) http.Header { return mine.Sign("msg_1", now.Add(d), body) }
	with := func(key, value string) http.Header {
		h := at(0)
		h.Set(key, value)
		return h
	}
	twice := at(0)
	twice.Add("webhook-id", "msg_2")
	signature := at(0).Get("webhook-signature")
	for name, tt := range map[string]struct {
		h    http.Header
		good bool
	}{
		"signed now":                         {at(0), true},
		"five minutes ago":                   {at(-5 * time.Minute), true},
		"in five minutes":                    {at(5 * time.Minute), true},
		"signed with the old secret":         {keysOf(t, oldSecret).Sign("msg_1", now, body), true},
		"two signatures, the second is ours": {with("webhook-signature", "v1,bm9uZQ== "+signature), true},
		"of another version":                 {with("webhook-signature", "v1a"+strings.TrimPrefix(signature, "v1")), false},
		"older than five minutes":            {at(-5*time.Minute - time.Second), false},
		"from the future":                    {at(5*time.Minute + time.Second), false},
		"with a stranger's secret":           {keysOf(t, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32))).Sign("msg_1", now, body), false},
		"with another id":                    {with("webhook-id", "msg_2"), false},
		"with two ids":                       {twice, false},
		"with a time moved into the id":      {with("webhook-id", "msg_1.1"), false},
		"with another time":                  {with("webhook-timestamp", "1700000001"), false},
		"with a time that is none":           {with("webhook-timestamp", "+1700000000"), false},
		"without a signature":                {with("webhook-signature", ""), false},
		"with the signature cut":             {with("webhook-signature", signature[:20]), false},
		"with nothing":                       {http.Header{}, false},
	} {
		if id, err := mine.verify(tt.h, body, now); (err == nil) != tt.good || tt.good != (id == "msg_1") {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
	if _, err := mine.verify(at(0), []byte("{ }"), now); err == nil {
		t.Error("another body was taken")
	}
}

func TestALargeWebhookIsNotRead(t *testing.T) {
	keys, body := keysOf(t, newSecret), bytes.Repeat([]byte("x"), 1000)
	for most, status := range map[int64]int{1000: 0, 999: http.StatusRequestEntityTooLarge} {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		maps.Copy(r.Header, keys.Sign("id", time.Now(), body))
		id, content, p := keys.Webhook(httptest.NewRecorder(), r, most)
		if status == 0 && (p != nil || id != "id" || !bytes.Equal(content, body)) || status != 0 && (p == nil || p.Status != status) {
			t.Errorf("up to %d bytes: %q, %d bytes, %v", most, id, len(content), p)
		}
	}
}

// FuzzWebhook looks for headers that bring the check to fail other than by
// refusing them.
func FuzzWebhook(f *testing.F) {
	keys := keysOf(f, newSecret)
	h := keys.Sign("msg_1", time.Now(), []byte("{}"))
	f.Add("msg_1", h.Get("webhook-timestamp"), h.Get("webhook-signature"), []byte("{}"))
	f.Add("", "-1", "v1, v1,", []byte(nil))
	f.Add("a.b", "99999999999999999999", " ", []byte("."))
	f.Fuzz(func(t *testing.T, id, at, signature string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(bytes.NewReader(body)))
		r.Header = http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signature}}
		got, _, p := keys.Webhook(httptest.NewRecorder(), r, 1<<10)
		if p == nil && (got != id || !strings.Contains(signature, sign(keys[0], id, at, body))) {
			t.Errorf("id %q, time %q and signature %q were taken for signed", id, at, signature)
		}
	})
}
