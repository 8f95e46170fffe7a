package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// post is how a post office answers.
type post struct{}

func (post) Rows() []channel.Row {
	return []channel.Row{
		{On: "77|no_such_box", Class: channel.Permanent, Code: "unknown_chat", Words: "the office has no such box", Hint: "rent one"},
		{On: "401", Class: channel.Held, Code: "post_key_refused", Words: "the office does not accept the key", Hint: "take a new key"},
	}
}

func (post) Read(a *transfer.Answer, out any) error {
	var said struct {
		Error  string
		Number int
		Lacks  string
	}
	if err := json.Unmarshal(a.Body, &said); err != nil {
		return err
	}
	if a.Status/100 != 2 || said.Error != "" {
		return &Word{Said: said.Error, Code: said.Number, Detail: said.Lacks}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Body, out)
}

func office(t *testing.T, do http.HandlerFunc) *API {
	t.Helper()
	srv := httptest.NewServer(do)
	t.Cleanup(srv.Close)
	a, err := New("the office", srv.URL+"/api/", transfer.Options{}.At(srv.URL), post{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Client.CloseIdleConnections)
	return a
}

// A question counted as a letter that may have gone, and a letter as a question.
func TestWhatAnAnswerMeansForAQuestionAndForALetter(t *testing.T) {
	for _, tt := range []struct {
		status    int
		body      string
		ask, post channel.Class
		code      string // of the letter
	}{
		{200, `{"error":"no_such_box"}`, channel.Permanent, channel.Permanent, "unknown_chat"},
		{400, `{"error":"boxes","number":77}`, channel.Permanent, channel.Permanent, "unknown_chat"},
		{400, `{"error":"ugly"}`, channel.Permanent, channel.Permanent, "message_refused"},
		{401, `{}`, channel.Held, channel.Held, "post_key_refused"},
		{413, `{}`, channel.Permanent, channel.Permanent, "file_too_large"},
		{429, `slow`, channel.Passing, channel.Passing, "rate_limited"},
		{503, `{}`, channel.Passing, channel.Passing, "not_connected"},
		{500, `{}`, channel.Passing, channel.Ambiguous, "no_answer"},
		{500, `oops`, channel.Passing, channel.Ambiguous, "no_answer"},
		{200, `oops`, channel.Passing, channel.Ambiguous, "no_answer"},
		{403, `<html>`, channel.Passing, channel.Held, "not_authorized"}, // of a proxy
	} {
		a := office(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		if err := a.Ask(t.Context(), "GET", "boxes", nil, &struct{}{}); err == nil || channel.ClassOf(err) != tt.ask || strings.Contains(err.Error(), "message") {
			t.Errorf("%d %s: a question is %v: %v", tt.status, tt.body, channel.ClassOf(err), err) // a question sends no message
		}
		err := a.Post(t.Context(), "letters", map[string]string{"to": "Ada"}, nil)
		e, ok := errors.AsType[*channel.Error](err)
		if !ok || e.Class != tt.post || e.Code != tt.code {
			t.Errorf("%d %s: a letter is %v", tt.status, tt.body, err)
		}
		if tt.status == 429 && channel.RetryAfterOf(err) != 7*time.Second {
			t.Errorf("it waits %s", channel.RetryAfterOf(err))
		}
	}
}

func TestARefusalSaysWhatThePlatformSaid(t *testing.T) {
	a := office(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"error":"no_such_box \u001b[31m","lacks":"a box"}`)
	})
	err := a.Ask(t.Context(), "POST", "boxes", url.Values{"a": {"b"}}, nil)
	if got, want := err.Error(), "the office has no such box: a box: the office says no_such_box \\x1b[31m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !Says(err, "no_such_box") || Says(err, "no_such") || WordOf(err).Detail != "a box" || WordOf(io.EOF) != nil {
		t.Errorf("the word is %+v", WordOf(err))
	}
}

// tollGate is a transport that lets nothing through.
type tollGate struct{ http.RoundTripper }

func (tollGate) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &channel.Error{Class: channel.Held, Code: "paused", Message: "nothing goes at the moment"}
}

// What the client's transport refuses to send lost its class.
func TestWhatTheTransportRefusesKeepsItsClass(t *testing.T) {
	a := office(t, func(http.ResponseWriter, *http.Request) { t.Error("a request came") })
	a.Client.Transport = tollGate{a.Client.Transport}
	for what, err := range map[string]error{"Ask": a.Ask(t.Context(), "GET", "boxes", nil, nil), "Post": a.Post(t.Context(), "letters", nil, nil)} {
		if channel.ClassOf(err) != channel.Held {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The address of a websocket may have a ticket, which came into the log.
func TestTheErrorOfASocketHidesItsAddress(t *testing.T) {
	a := office(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	err := a.Listen(t.Context(), a.Base+"hear?ticket=secret", 1<<10, 0, nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestASocketHearsFramesAndSaysWhatItIsTold(t *testing.T) {
	a := office(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		_ = conn.Write(r.Context(), websocket.MessageText, []byte("one"))
		_, said, _ := conn.Read(r.Context())
		_ = conn.Write(r.Context(), websocket.MessageText, append([]byte("you said "), said...))
		_, _, _ = conn.Read(r.Context())
	})
	var heard []string
	besideEnded := false
	enough := errors.New("enough")
	err := a.Listen(t.Context(), a.Base, 1<<10, time.Hour, func(ctx context.Context, s *Socket, frame []byte) error {
		if heard = append(heard, string(frame)); len(heard) == 2 {
			return enough
		}
		s.Go(func() {
			<-ctx.Done()
			besideEnded = true
		})
		return s.Write(ctx, map[string]int{"n": 1})
	})
	if !errors.Is(err, enough) || strings.Join(heard, ", ") != `one, you said {"n":1}` || !besideEnded {
		t.Errorf("%v; heard %q; what ran beside ended: %v", err, heard, besideEnded)
	}
}

// A token went to nobody but its API, and files could not be fetched.
func TestAnAuthorizedClientShowsItsTokenAndChangesNoRequest(t *testing.T) {
	var got string
	a := office(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "{}")
	})
	a.Client.Transport = Authorized{transfer.Transport{RoundTripper: a.Client.Transport}, http.Header{"Authorization": {"Bearer key"}}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.Base, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got != "Bearer key" || len(req.Header) != 0 {
		t.Errorf("shown: %q; the request has %v", got, req.Header)
	}
}
