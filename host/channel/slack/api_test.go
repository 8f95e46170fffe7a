package slack

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
)

// answering is the client of a Slack that answers everything in one way.
func answering(t *testing.T, status int, header http.Header, body string) *api {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	a, err := newAPI(&Settings{}, Net{API: srv.URL + "/"}, channel.NoHost{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Client.CloseIdleConnections)
	return a
}

// question asks by slack-go for something that it takes for done unless it hears of an error.
func (a *api) question(t *testing.T) error {
	return a.refusal(a.slack.AddReactionContext(t.Context(), "eyes", slackgo.NewRefToMessage(desk, "1700000002.000001")))
}

// An answer without Slack's word, as a proxy's may be, counted as a refusal for good. By slack-go, it
// would count as a yes.
func TestAnAnswerThatSaysNothingDecidesNothing(t *testing.T) {
	for _, answer := range []string{"{}", "null", `{"ok":false}`, `{"ok":false,"error":" "}`, "[]", `{"ok":"yes"}`, ""} {
		a := answering(t, http.StatusOK, nil, answer)
		if err := a.Post(t.Context(), "chat.postMessage", map[string]string{}, &struct{}{}); channel.ClassOf(err) != channel.Ambiguous {
			t.Errorf("%s is %v: %v", answer, channel.ClassOf(err), err)
		}
		if err := a.question(t); err == nil || channel.ClassOf(err) != channel.Passing {
			t.Errorf("%s to a question is %v: %v", answer, channel.ClassOf(err), err)
		}
	}
}

// An error of slack-go has the class and the words of webapi's for the same answer.
func TestAnErrorOfTheLibraryIsARefusalOfSlack(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, wait string
		class      channel.Class
		code, says string
	}{
		{200, `{"ok":true}`, "", 0, "", ""},
		{200, `{"ok":false,"error":"missing_scope","needed":"reactions:write"}`, "", channel.Held, "slack_scope_missing", "reactions:write"},
		{200, `{"ok":false,"error":"not_reactable"}`, "", channel.Permanent, "not_allowed", ""},
		{200, `{"ok":false,"error":"a_word_of_tomorrow"}`, "", channel.Permanent, "message_refused", "a_word_of_tomorrow"},
		{200, `{"ok":false,"error":"fatal_error"}`, "", channel.Passing, "not_connected", ""},
		{200, `{"ok":true,"x":"` + strings.Repeat("a", maxAnswer) + `"}`, "", channel.Passing, "not_connected", ""},
		{200, `<html>`, "", channel.Passing, "not_connected", ""},
		{429, `{"ok":false,"error":"ratelimited"}`, "7", channel.Passing, "rate_limited", ""},
		{429, `slow`, "", channel.Passing, "rate_limited", ""},
		{429, `{}`, "7", channel.Passing, "rate_limited", ""},
		{403, `<html>`, "", channel.Passing, "not_connected", ""},
		{500, `<html>`, "", channel.Passing, "not_connected", ""},
		{503, `soon`, "", channel.Passing, "not_connected", ""},
	} {
		header := http.Header{}
		if tt.wait != "" {
			header.Set("Retry-After", tt.wait)
		}
		a := answering(t, tt.status, header, tt.body)
		name := tt.body[:min(len(tt.body), 60)]
		err := a.question(t)
		e, _ := errors.AsType[*channel.Error](err)
		switch {
		case tt.code == "":
			if err != nil {
				t.Errorf("%d %s: %v", tt.status, name, err)
			}
		case e == nil || e.Class != tt.class || e.Code != tt.code || !strings.Contains(err.Error(), tt.says):
			t.Errorf("%d %s: %#v", tt.status, name, err)
		case tt.wait != "" && channel.RetryAfterOf(err) != 7*time.Second:
			t.Errorf("it waits %s", channel.RetryAfterOf(err))
		}
		asked := a.Ask(t.Context(), http.MethodPost, "reactions.add", nil, nil)
		if channel.ClassOf(asked) != channel.ClassOf(err) || tt.says != "" && asked.Error() != err.Error() {
			t.Errorf("%d %s: by webapi it is %v, and by slack-go %v", tt.status, name, asked, err)
		}
	}
}

// mute is a transport to a Slack that takes a request and never answers.
type mute struct{}

func (mute) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// The library itself would wait for ever.
func TestAQuestionEndsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := newAPI(&Settings{}, Net{}, channel.NoHost{})
		if err != nil {
			t.Fatal(err)
		}
		a.Client.Transport = mute{}
		began := time.Now()
		if err := a.question(t); err == nil || channel.ClassOf(err) != channel.Passing || time.Since(began) != asking {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
