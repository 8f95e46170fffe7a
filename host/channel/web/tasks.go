package web

import (
	"net/http"
	"slices"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// listTasks lists the scheduled tasks of a chat.
func (w *Web) listTasks(rw http.ResponseWriter, r *http.Request) {
	c, ok := w.chatOf(rw, r)
	if !ok {
		return
	}
	all := []channel.Task{}
	if w.opts.Tasks != nil {
		var err error
		if all, err = w.opts.Tasks.Tasks(r.Context(), c.JID); err != nil {
			w.failed(rw, r, ofTask(err))
			return
		}
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"tasks": all})
}

// operateTask acts on a task of a chat. Everybody who may write in the chat may do so.
func (w *Web) operateTask(rw http.ResponseWriter, r *http.Request) {
	c, ok := w.chatOf(rw, r)
	if !ok {
		return
	}
	var ask struct {
		Do string `json:"do"`
	}
	err := readJSON(rw, r, &ask, `{"do": "pause"}`)
	verbs := []string{"pause", "resume", "run", "cancel"}
	switch {
	case err != nil:
	case !slices.Contains(verbs, ask.Do):
		err = httpd.Refuse(http.StatusBadRequest, "bad_kind", "that cannot be done with a task", "use pause, resume, run or cancel")
	case w.opts.Tasks == nil:
		err = httpd.Refuse(http.StatusNotFound, "unknown_task", "the chat has no tasks", "")
	}
	var words string
	if err == nil {
		words, err = w.opts.Tasks.Operate(r.Context(), c.JID, r.PathValue("id"), ask.Do)
	}
	if err != nil {
		w.failed(rw, r, ofTask(err))
		return
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"words": words})
}

// ofTask turns a refusal into an answer of the API.
func ofTask(err error) error {
	r := refusal.Of(err)
	switch {
	case r == nil:
		return err
	case r.Code == "unknown_task":
		return httpd.Refuse(http.StatusNotFound, r.Code, r.Message, r.Hint)
	}
	return httpd.Refuse(http.StatusConflict, r.Code, r.Message, r.Hint)
}
