package web

import (
	"net/http"
	"slices"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// listTasks lists the scheduled tasks of a chat.
func (w *Web) listTasks(rw http.ResponseWriter, r *http.Request, c *room) error {
	all := []channel.Task{}
	if w.opts.Tasks != nil {
		var err error
		if all, err = w.opts.Tasks.Tasks(r.Context(), c.JID); err != nil {
			return ofTask(err)
		}
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"tasks": all})
	return nil
}

// operateTask acts on a task of a chat. Everybody who may write in the chat may do so.
func (w *Web) operateTask(rw http.ResponseWriter, r *http.Request, c *room) error {
	var ask struct {
		Do string `json:"do"`
	}
	if err := readJSON(rw, r, &ask, `{"do": "pause"}`); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"pause", "resume", "run", "cancel"}, ask.Do):
		return httpd.Refuse(http.StatusBadRequest, "bad_kind", "that cannot be done with a task", "use pause, resume, run or cancel")
	case w.opts.Tasks == nil:
		return httpd.Refuse(http.StatusNotFound, "unknown_task", "the chat has no tasks", "")
	}
	words, err := w.opts.Tasks.Operate(r.Context(), c.JID, r.PathValue("id"), ask.Do)
	if err != nil {
		return ofTask(err)
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"words": words})
	return nil
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
