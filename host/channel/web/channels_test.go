package web_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/media"
)

// TestTwoPagesKeepTheirHistoriesApart: both have a chat of the same name in one state, and
// get a message with the same id.
func TestTwoPagesKeepTheirHistoriesApart(t *testing.T) {
	o := options(t.TempDir()).opens(t)
	id, urls := newID(), map[string]string{}
	ask := func(w *web.Web, path string) *httptest.ResponseRecorder {
		req := httptest.NewRequest("GET", path, nil)
		req.Host = "localhost"
		rec := httptest.NewRecorder()
		w.Handler().ServeHTTP(rec, req)
		return rec
	}
	pages := map[string]*web.Web{}
	for _, name := range []string{"web", "web-two"} {
		o.Name = name
		w, err := opened(o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		pages[name] = w
		for range 2 {
			m := channel.Message{ID: id, Chat: "web:family", Text: name, Files: outgoing("a.txt", "text/plain", media.Document, []byte(name))}
			if r, err := w.Send(t.Context(), m); err != nil || r.ID != id {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	for name, w := range pages {
		var page struct{ Messages []history.Message }
		rec := ask(w, "/api/chats/family/messages")
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || len(page.Messages) != 1 || page.Messages[0].Text != name {
			t.Fatalf("%s shows %s", name, rec.Body)
		}
		urls[name] = page.Messages[0].File.URL
		if rec := ask(w, urls[name]); rec.Body.String() != name {
			t.Errorf("%s serves %d %s", name, rec.Code, rec.Body)
		}
	}
	if rec := ask(pages["web"], urls["web-two"]); rec.Code != 404 {
		t.Errorf("one page serves the other's file: %d", rec.Code)
	}
}
