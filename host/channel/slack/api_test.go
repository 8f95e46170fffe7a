package slack

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

// An answer without Slack's word, as a proxy's may be, counted as a refusal for good.
func TestAnAnswerThatSaysNothingDecidesNothing(t *testing.T) {
	for _, answer := range []string{"{}", "null", `{"ok":false}`, "[]", `{"ok":"yes"}`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		defer srv.Close()
		w, err := newAPI(&Settings{}, Net{API: srv.URL + "/"}, channel.NoHost{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Client.CloseIdleConnections()
		if err := w.Post(t.Context(), "chat.postMessage", map[string]string{}, &struct{}{}); channel.ClassOf(err) != channel.Ambiguous {
			t.Errorf("%s is %v: %v", answer, channel.ClassOf(err), err)
		}
	}
}
