package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/finding"
)

var (
	since = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	began = Message{ID: "0123456789abcdef", Kind: Began, Host: "box", Since: since,
		Fault: finding.Finding{Name: "channel_down", Part: "channel whatsapp", Cause: "channel whatsapp is not connected: logged out", Remedy: "longshore pair whatsapp"}}
	over = Message{ID: "fedcba9876543210", Kind: Over, Host: "box", Since: since, Until: since.Add(12 * time.Minute), Fault: began.Fault}
)

// request is what a server got.
type request struct {
	path   string
	header http.Header
	body   string
}

// server answers every request as answer does and keeps the requests.
func server(t *testing.T, answer http.HandlerFunc) (url string, got chan request) {
	t.Helper()
	got = make(chan request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.URL.Path, r.Header, string(body)}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func keys(t *testing.T, secret []byte) httpd.WebhookKeys {
	t.Helper()
	k, err := httpd.ParseWebhookKeys("whsec_" + base64.StdEncoding.EncodeToString(secret))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var fine = func(http.ResponseWriter, *http.Request) {}

// The signature is computed here from the text of the standard alone.
func TestAWebhookIsSigned(t *testing.T) {
	secret := []byte("a secret of thirty-two bytes, ok")
	url, got := server(t, fine)
	if err := (Webhook{url + "/longshore", keys(t, secret)}).Tell(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	r := <-got
	at := r.header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(over.ID + "." + at + "." + r.body))
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.header.Get("webhook-signature") != want || r.header.Get("webhook-id") != over.ID {
		t.Errorf("signed %q, want %q", r.header, want)
	}
	if seconds, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
		t.Errorf("the time is %s", at)
	}
	var p map[string]string
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.path != "/longshore" {
		t.Fatalf("%s %s: %v", r.path, r.body, err)
	}
	for key, want := range map[string]string{
		"type": "over", "id": over.ID, "host": "box", "name": "channel_down", "part": "channel whatsapp", "remedy": "longshore pair whatsapp",
		"since": "2026-03-01T12:00:00Z", "until": "2026-03-01T12:12:00Z", "title": "Longshore on box: channel whatsapp is well again",
		"text": "Over on box after 12 minutes: channel whatsapp is not connected: logged out",
	} {
		if p[key] != want {
			t.Errorf("%s is %q, want %q", key, p[key], want)
		}
	}
}

func TestNtfyGetsTitlePriorityAndToken(t *testing.T) {
	url, got := server(t, fine)
	target := Ntfy{url + "/", "longshore-a8", "tk_1"}
	for _, m := range []struct {
		Message
		title, priority, text string
	}{
		{began, "Longshore on box: channel whatsapp", "high", "Fault on box: channel whatsapp is not connected: logged out\nWhat to do: longshore pair whatsapp"},
		{over, "Longshore on box: channel whatsapp is well again", "default", "Over on box after 12 minutes: channel whatsapp is not connected: logged out"},
	} {
		if err := target.Tell(t.Context(), m.Message); err != nil {
			t.Fatal(err)
		}
		r := <-got
		if r.path != "/longshore-a8" || r.body != m.text || r.header.Get("Title") != m.title || r.header.Get("Priority") != m.priority || r.header.Get("Authorization") != "Bearer tk_1" {
			t.Errorf("%s got %s %v", r.path, r.body, r.header)
		}
	}
}

func TestAHostileReceiverIsAnError(t *testing.T) {
	elsewhere, reached := server(t, fine)
	hang := make(chan struct{})
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"500":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out of\x1b[2J order", 500) }, "status 500: out of"},
		"404":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "status 404"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, 307) }, "status 307"},
		"endless":  {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); pour(w) }, "status 400"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, "did not say whether"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := server(t, tt.answer)
			for _, target := range []Target{Webhook{url, keys(t, make([]byte, 32))}, Ntfy{url, "topic", "secret-token"}} {
				ctx, cancel := context.WithCancel(t.Context())
				if name == "hangs" {
					time.AfterFunc(100*time.Millisecond, cancel)
				}
				err := target.Tell(ctx, began)
				cancel()
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "secret-token") || len(err.Error()) > 500 {
					t.Errorf("%s says %v", target.Name(), err)
				}
			}
		})
	}
	close(hang)
	if len(reached) > 0 {
		t.Error("a redirect was followed")
	}
}

// pour writes until nobody reads.
func pour(w io.Writer) {
	for range 100 {
		if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
			return
		}
	}
}

func TestAChatIsToldInTheHostsWordsUnderAKeyOfTheMessage(t *testing.T) {
	var said teller
	if err := (Chat{"ops", &said}).Tell(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	if want := "ops||notify-" + began.ID + "|" + began.Text(); string(said) != want {
		t.Errorf("said %q, want %q", said, want)
	}
}

// teller is what a chat was told.
type teller string

func (s *teller) Tell(_ context.Context, folder, thread, text, key string) error {
	*s = teller(fmt.Sprintf("%s|%s|%s|%s", folder, thread, key, text))
	return nil
}
