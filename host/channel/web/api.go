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

// call returns the handler of a call, which answers with the error of do.
func (w *Web) call(do func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if err := do(rw, r); err != nil {
			w.failed(rw, r, err)
		}
	}
}

// inChat is call for the chat that the address names.
func (w *Web) inChat(do func(http.ResponseWriter, *http.Request, *room) error) http.HandlerFunc {
	return w.call(func(rw http.ResponseWriter, r *http.Request) error {
		c := w.now().chats[r.PathValue("chat")]
		if c == nil {
			return httpd.Refuse(http.StatusNotFound, "unknown_chat", "there is no chat "+httpd.Quote(r.PathValue("chat")), "GET /api/chats lists them")
		}
		return do(rw, r, c)
	})
}

// listMessages returns the newest messages, or those next to the message in ?before= or
// ?after=, always the oldest first.
func (w *Web) listMessages(rw http.ResponseWriter, r *http.Request, c *room) error {
	q := r.URL.Query()
	limit := defaultPage
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxPage {
			return httpd.Refuse(http.StatusBadRequest, "bad_limit", "limit is not a number from 1 to 200", "leave it out for 50")
		}
		limit = n
	}
	if q.Get("after") != "" && q.Get("before") != "" {
		return httpd.Refuse(http.StatusBadRequest, "bad_range", "after and before cannot be used together", "use one of them")
	}
	changed, err := w.store.LastChange(r.Context(), c.name) // before the messages: later ones come as events
	if err != nil {
		return err
	}
	ms, err := w.window(r, c, q.Get("after"), q.Get("before"), limit+1)
	if err != nil {
		return err
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
		return err
	}
	page := map[string]any{"messages": ms, "more": more}
	if changed > 0 {
		page["changed"] = changed
	}
	if !more && q.Get("after") == "" {
		gone, err := w.store.AnyGone(r.Context(), c.name)
		if err != nil {
			return err
		}
		if gone { // so that nobody takes this for the beginning of the chat
			page["gone"] = true
		}
	}
	httpd.Answer(rw, http.StatusOK, page)
	w.delivered(r.Context(), c, ms)
	return nil
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
func (w *Web) seen(rw http.ResponseWriter, r *http.Request, c *room) error {
	var in struct {
		IDs []string `json:"ids"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.IDs) == 0 || len(in.IDs) > maxPage {
		return httpd.Refuse(http.StatusBadRequest, "bad_request", `the body is not {"ids": […]} with 1 to 200 ids`, "")
	}
	if err := w.report(r.Context(), c, in.IDs, history.Read); err != nil {
		return err
	}
	rw.WriteHeader(http.StatusNoContent)
	return nil
}
