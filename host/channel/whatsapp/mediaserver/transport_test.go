package mediaserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// twoHosts are two media servers.
type twoHosts struct{}

func (twoHosts) hosts(context.Context) ([]string, error)   { return []string{"a", "b"}, nil }
func (twoHosts) renewAuth(context.Context) (string, error) { return "new", nil }

// fakeServers answers requests by host, each host from its own list of answers.
type fakeServers struct {
	mu      sync.Mutex
	answers map[string][]int // a status; 0: cannot be reached
	seen    []string         // host, auth, body
}

func (s *fakeServers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.URL.Host+" "+r.URL.Query().Get("auth")+" "+string(body))
	list := s.answers[r.URL.Host]
	code := list[0]
	s.answers[r.URL.Host] = list[1:]
	if code == 0 {
		return nil, errors.New("cannot be reached")
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestAnUploadFindsItsWay(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers map[string][]int
		seen    []string
		code    int // 0: an error
	}{
		{"at once", map[string][]int{"a": {200}}, []string{"a old CIPHER"}, 200},
		{"by the second host", map[string][]int{"a": {0}, "b": {200}}, []string{"a old CIPHER", "b old CIPHER"}, 200},
		{"by no host", map[string][]int{"a": {0}, "b": {0}}, []string{"a old CIPHER", "b old CIPHER"}, 0},
		{"with a fresh authorization", map[string][]int{"a": {401, 200}}, []string{"a old CIPHER", "a new CIPHER"}, 200},
		{"with one that is refused too", map[string][]int{"a": {403, 403}}, []string{"a old CIPHER", "a new CIPHER"}, 403},
		{"not past a full server", map[string][]int{"a": {507}}, []string{"a old CIPHER"}, 507},
		{"past a broken gateway", map[string][]int{"a": {502}, "b": {200}}, []string{"a old CIPHER", "b old CIPHER"}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := &fakeServers{answers: tt.answers}
			last := int64(-1)
			up := &upload{
				body:     bytes.NewReader([]byte("CIPHER")),
				progress: transfer.NewProgress(func(n int64) { last = n }, 4),
				servers:  twoHosts{},
			}
			ctx := context.WithValue(t.Context(), uploadKey{}, up)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://a/mms/x?auth=old&token=t", strings.NewReader("CIPHER"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := Transport{Base: srv}.RoundTrip(req)
			if tt.code == 0 {
				if err == nil {
					t.Error("it went well")
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != tt.code {
					t.Errorf("answer %d, want %d", res.StatusCode, tt.code)
				}
				if tt.code != 200 && (up.refused == nil || up.refused.code != tt.code || up.refused.retryAfter != 7*time.Second) {
					t.Errorf("what is known of the refusal: %+v", up.refused)
				}
			}
			if got := strings.Join(srv.seen, "; "); got != strings.Join(tt.seen, "; ") {
				t.Errorf("requests %q, want %q", got, tt.seen)
			}
			if last != 4 {
				t.Errorf("progress ends at %d of 4 bytes", last)
			}
		})
	}
}

func TestAnUploadsEndHasItsClass(t *testing.T) {
	cause := errors.New("upload failed with status code N")
	for _, tt := range []struct {
		refused *statusError
		class   channel.Class
		code    string
		wait    time.Duration
	}{
		{nil, channel.Passing, "upload_failed", 0},
		{&statusError{code: 401}, channel.Passing, "upload_failed", 0},
		{&statusError{code: 413}, channel.Permanent, "file_too_large", 0},
		{&statusError{code: 415}, channel.Permanent, "upload_refused", 0},
		{&statusError{code: 429, retryAfter: 40 * time.Second}, channel.Passing, "rate_limited", 40 * time.Second},
		{&statusError{code: 429}, channel.Passing, "rate_limited", 10 * time.Second},
		{&statusError{code: 500}, channel.Passing, "upload_failed", 0},
		{&statusError{code: 507, retryAfter: time.Minute}, channel.Passing, "upload_failed", time.Minute},
	} {
		err := outcomeOf(cause, tt.refused)
		var e *channel.Error
		if !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%v: %v, want %s", tt.refused, err, tt.code)
		}
		if channel.ClassOf(err) != tt.class || channel.RetryAfterOf(err) != tt.wait || !errors.Is(err, cause) {
			t.Errorf("%v: %v after %v, want %v after %v", tt.refused, channel.ClassOf(err), channel.RetryAfterOf(err), tt.class, tt.wait)
		}
	}
	known := &channel.Error{Class: channel.Permanent, Code: "content_changed", Message: "m"}
	if got := outcomeOf(fmt.Errorf("x: %w", known), nil); channel.ClassOf(got) != channel.Permanent {
		t.Errorf("an error that is sorted already becomes %v", got)
	}
}
