package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	defaultPage = 50
	maxPage     = 200
)

var (
	messageID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	keyForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)
)

// chatOf returns the chat of a request. If there is none, it answers 404.
func (w *Web) chatOf(rw http.ResponseWriter, r *http.Request) (*room, bool) {
	c := w.now().chats[r.PathValue("chat")]
	if c == nil {
		httpd.Fail(rw, httpd.Refuse(http.StatusNotFound, "unknown_chat", "there is no chat "+httpd.Quote(r.PathValue("chat")), "GET /api/chats lists them"))
	}
	return c, c != nil
}

// listMessages returns the newest messages, or those next to the message in ?before= or
// ?after=, always the oldest first.
func (w *Web) listMessages(rw http.ResponseWriter, r *http.Request) {
	c, ok := w.chatOf(rw, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	limit := defaultPage
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxPage {
			httpd.Fail(rw, httpd.Refuse(http.StatusBadRequest, "bad_limit", "limit is not a number from 1 to 200", "leave it out for 50"))
			return
		}
		limit = n
	}
	if q.Get("after") != "" && q.Get("before") != "" {
		httpd.Fail(rw, httpd.Refuse(http.StatusBadRequest, "bad_range", "after and before cannot be used together", "use one of them"))
		return
	}
	changed, err := w.store.LastChange(r.Context(), c.name) // before the messages: later ones come as events
	if err != nil {
		httpd.Internal(rw, r, w.log, err)
		return
	}
	ms, err := w.window(r, c, q.Get("after"), q.Get("before"), limit+1)
	if err != nil {
		w.failed(rw, r, err)
		return
	}
	more := len(ms) > limit
	switch {
	case more && q.Get("after") != "":
		ms = ms[:limit]
	case more:
		ms = ms[1:]
	}
	if ms == nil {
		ms = []*history.Message{}
	}
	if err := w.store.MarkTaken(r.Context(), c.name, ms); err != nil {
		httpd.Internal(rw, r, w.log, err)
		return
	}
	page := map[string]any{"messages": ms, "more": more}
	if changed > 0 {
		page["changed"] = changed
	}
	if !more && q.Get("after") == "" {
		gone, err := w.store.AnyGone(r.Context(), c.name)
		if err != nil {
			httpd.Internal(rw, r, w.log, err)
			return
		}
		if gone { // so that nobody takes this for the beginning of the chat
			page["gone"] = true
		}
	}
	httpd.Answer(rw, http.StatusOK, page)
	w.delivered(r.Context(), c, ms)
}

func (w *Web) window(r *http.Request, c *room, after, before string, limit int) ([]*history.Message, error) {
	if after != "" {
		seq, err := w.position(r, c, after)
		if err != nil {
			return nil, err
		}
		return w.store.After(r.Context(), c.name, seq, limit)
	}
	seq := int64(1<<63 - 1)
	if before != "" {
		var err error
		if seq, err = w.position(r, c, before); err != nil {
			return nil, err
		}
	}
	return w.store.Before(r.Context(), c.name, seq, limit)
}

// position returns a message's number in the history, even if the message was deleted. The
// error is an *httpd.Problem if there never was such a message.
func (w *Web) position(r *http.Request, c *room, id string) (int64, error) {
	seq, _, err := w.store.SeqOf(r.Context(), c.name, id)
	if err != nil {
		return 0, err
	}
	if seq == 0 {
		return 0, httpd.Refuse(http.StatusNotFound, "unknown_message", "this chat has no message "+httpd.Quote(id), "use an id that the API gave")
	}
	return seq, nil
}

// failed answers with err if it is a *httpd.Problem, else with a general text that hides it.
func (w *Web) failed(rw http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, history.ErrGone) {
		err = httpd.Refuse(http.StatusGone, "message_gone", "this was sent before, and the chat no longer keeps it", "send it as a new message, with another key")
	}
	if p, ok := httpd.OrDiskFull(err).(*httpd.Problem); ok {
		if p.Code == "disk_full" { // the member cannot fix that
			w.log.Warn("no room for what a member sends", "path", r.URL.Path, "error", err)
		}
		httpd.Fail(rw, p)
		return
	}
	httpd.Internal(rw, r, w.log, err)
}

// seen records that a page has shown these messages to a person.
func (w *Web) seen(rw http.ResponseWriter, r *http.Request) {
	c, ok := w.chatOf(rw, r)
	if !ok {
		return
	}
	var in struct {
		IDs []string `json:"ids"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.IDs) == 0 || len(in.IDs) > maxPage {
		httpd.Fail(rw, httpd.Refuse(http.StatusBadRequest, "bad_request", `the body is not {"ids": […]} with 1 to 200 ids`, ""))
		return
	}
	if err := w.report(r.Context(), c, in.IDs, history.Read); err != nil {
		httpd.Internal(rw, r, w.log, err)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}
