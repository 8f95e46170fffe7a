package web

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxText = 20_000    // characters of a text
	maxJSON = 256 << 10 // bytes of a post without files
)

// posted is a member's post, in either form.
type posted struct {
	Text    string `json:"text"`
	From    string `json:"from"`
	ReplyTo string `json:"replyTo"`

	Forwarded string `json:"forwarded"` // who wrote it; empty: From
	Author    string `json:"author"`    // any mark, for the colour; may be empty
	Secret    string `json:"secret"`    // the browser's, in place of Author; may be empty
	Key       string `json:"key"`       // made by the poster: the same key again is the same post; may be empty

	files []upload
	shown history.Shown // of Text
}

// upload is one file of a post.
type upload struct {
	*history.Staged
	info media.Info
}

func (p *posted) drop() {
	for _, f := range p.files {
		f.Drop()
	}
}

// post handles a member's post. Several files become one message each, the first with the
// text; the host gets them as one.
func (w *Web) post(rw http.ResponseWriter, r *http.Request, c *room) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var p *posted
	switch {
	case err == nil && kind == "application/json":
		p = &posted{}
		err = readJSON(rw, r, p, `{"text": "…", "from": "…"}`)
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		p, err = w.readForm(rw, r, c, params["boundary"])
	default:
		err = httpd.Refuse(http.StatusUnsupportedMediaType, "bad_content_type", "the body is neither JSON nor a form with files",
			"set Content-Type to application/json or multipart/form-data")
	}
	if err != nil {
		return err
	}
	defer p.drop()
	if err := cmp.Or(p.check(), w.textSpace()); err != nil {
		return err
	}
	ms, err := w.speak(r.Context(), c, p)
	if err != nil {
		return err
	}
	httpd.Answer(rw, http.StatusCreated, map[string]any{"messages": ms})
	return nil
}

// readJSON reads the one object of a body; form is an example for the answer if it fails.
func readJSON(rw http.ResponseWriter, r *http.Request, into any, form string) error {
	body, problem := httpd.ReadAll(rw, r, maxJSON)
	switch {
	case problem != nil && problem.Status == http.StatusRequestEntityTooLarge:
		return textTooLong()
	case problem != nil:
		return problem
	case !utf8.Valid(body): // the decoder would put something else in its place
		return notUTF8("the body")
	}
	if err := httpd.Decode(body, into); err != nil {
		return httpd.Refuse(http.StatusBadRequest, "bad_json", "the body is no message: "+httpd.Quote(err.Error()), "send "+form)
	}
	return nil
}

// notUTF8 refuses a text that is not valid UTF-8.
func notUTF8(what string) *httpd.Problem {
	return httpd.Refuse(http.StatusBadRequest, "bad_utf8", what+" is not valid UTF-8", "encode texts and names as UTF-8")
}

func textTooLong() *httpd.Problem {
	return httpd.Refuse(http.StatusRequestEntityTooLarge, "text_too_long", fmt.Sprintf("a text may have up to %d characters", maxText),
		"send it as a file, or in parts")
}

// check cleans the texts and refuses an invalid post.
func (p *posted) check() error {
	p.Text = cleanText(p.Text)
	p.From = cleanName(p.From, "Member")
	if p.Forwarded != "" {
		p.Forwarded = cleanName(p.Forwarded, "Member")
	}
	switch {
	case utf8.RuneCountInString(p.Text) > maxText:
		return textTooLong()
	case strings.TrimSpace(p.Text) == "" && len(p.files) == 0:
		return httpd.Refuse(http.StatusBadRequest, "empty", "there is nothing to send", "write a text or attach a file")
	case p.Key != "" && !keyForm.MatchString(p.Key), p.Author != "" && !keyForm.MatchString(p.Author):
		return httpd.Refuse(http.StatusBadRequest, "bad_key", "key and author have 8 to 64 letters, digits, - or _", "leave them out, or use a random UUID")
	case p.Secret != "" && !secretOK(p.Secret):
		return badSecret()
	case p.ReplyTo != "" && !messageID.MatchString(p.ReplyTo):
		return httpd.Refuse(http.StatusBadRequest, "bad_reply", "replyTo is not the id of a message", "use the id that the API gave")
	}
	if p.Secret != "" {
		p.Author, p.Secret = markOf(p.Secret), ""
	}
	p.shown = history.Show(p.Text)
	return nil
}

// speak adds the post to the history, where the host finds it.
func (w *Web) speak(ctx context.Context, c *room, p *posted) ([]*history.Message, error) {
	for _, f := range p.files {
		if err := w.files.Publish(ctx, []*history.Staged{f.Staged}); err != nil {
			w.log.Error("a member's file is refused", "error", err)
			return nil, httpd.Refuse(http.StatusServiceUnavailable, "files_away", "the file cannot be kept at the moment", "try again in a minute")
		}
	}
	leave, err := w.entered.Enter(ctx, c.name)
	if err != nil {
		return nil, err
	}
	defer leave()
	if p.Key != "" {
		if there, err := w.store.ByKey(ctx, c.name, p.Key); err != nil || len(there) > 0 {
			return there, err
		}
	}
	ms, files, err := w.composePost(ctx, c, p)
	if err != nil {
		return nil, err
	}
	// From here on a cancelled request no longer stops the work, because it is half done.
	if fresh, err := w.store.Insert(context.WithoutCancel(ctx), c.name, ms); err != nil {
		history.LeaveDoubtful(err, files)
		return nil, err
	} else if fresh {
		w.show(c, ms, files)
	}
	return ms, nil
}

// composePost makes the messages and their files. The ids of the further messages begin
// with the first message's id.
func (w *Web) composePost(ctx context.Context, c *room, p *posted) ([]*history.Message, []*history.Staged, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("make message id: %w", err)
	}
	base := strings.ReplaceAll(id.String(), "-", "")
	first := &history.Message{ID: base, From: p.From, Author: p.Author, Text: p.Text, Forwarded: p.Forwarded, Shown: p.shown, Status: history.Received, Key: p.Key}
	if p.ReplyTo != "" {
		answered, err := w.store.ByID(ctx, c.name, p.ReplyTo)
		if err != nil {
			return nil, nil, err
		}
		if answered != nil {
			first.ReplyTo, first.Quote, first.Answers = p.ReplyTo, answered.AsQuote(), answered.Assistant
		}
	}
	ms := []*history.Message{first}
	var files []*history.Staged
	for i, f := range p.files {
		if i > 0 {
			ms = append(ms, &history.Message{ID: fmt.Sprintf("%s-%d", base, i+1), From: p.From, Author: p.Author, Forwarded: p.Forwarded, Status: history.Received, Key: p.Key})
		}
		ms[i].File, ms[i].Bytes = f.Describe(f.info), f.Bytes
		files = append(files, f.Staged)
	}
	return ms, files, nil
}
