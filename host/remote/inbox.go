package remote

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Inbox is where members' messages wait for assistants that fetch them. Each call is about
// one conversation: a thread of a group's chat, or the chat itself. Errors that a client
// may read are *refusal.Error.
type Inbox interface {
	// Fetch returns what waits behind the cursor. changed is closed when there may be more.
	Fetch(ctx context.Context, folder, thread, after string) (in ipc.Inbox, changed <-chan struct{}, err error)
	// Ack ends a message, and answers it if answer is not empty. done is false if it had
	// ended before: then nothing is sent.
	Ack(ctx context.Context, folder, thread, id, answer string) (done bool, err error)
	// Unheard says that a message was pushed into a session several times and is not
	// acknowledged. done is false if it had ended before.
	Unheard(folder, thread, id string) (done bool, err error)
	// AskPermission asks members whether the session may use a tool, and returns the question
	// with its id.
	AskPermission(ctx context.Context, folder, thread string, p ipc.Permission) (ipc.Permission, error)
	// Permission returns a question, as soon as it is answered or after the time to wait.
	Permission(ctx context.Context, folder, thread, id string, wait time.Duration) (ipc.Permission, error)
	// FetchFile opens a file of a message; number counts from 1.
	FetchFile(folder, thread, id string, number int) (*os.File, ipc.MessageFile, error)
}

// How many fetches may wait for messages at the same time.
const (
	maxTokenPolls = 4
	maxGroupPolls = 16
)

// polls counts the fetches that wait. The zero polls has none.
type polls struct {
	mu   sync.Mutex
	open map[string]int // by token and by folder
}

// begin counts a fetch, unless there are too many.
func (p *polls) begin(who tokens.Identity) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	token, folder := "token "+who.Token, "group "+who.Folder
	if p.open[token] >= maxTokenPolls || p.open[folder] >= maxGroupPolls {
		return false
	}
	if p.open == nil {
		p.open = map[string]int{}
	}
	p.open[token]++
	p.open[folder]++
	return true
}

func (p *polls) end(who tokens.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range []string{"token " + who.Token, "group " + who.Folder} {
		if p.open[of]--; p.open[of] == 0 {
			delete(p.open, of)
		}
	}
}

// inbox answers with the messages that wait, or with none after the time to wait.
func (s *Server) inbox(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	wait, err := s.waitOf(r, 0)
	if err != nil {
		return err
	}
	if s.Inbox == nil {
		return errNoInbox
	}
	after, err := cursorOf(r.URL.Query())
	if err != nil {
		return err
	}
	if !s.polls.begin(who) {
		return errPolls
	}
	defer s.polls.end(who)
	over := time.After(wait)
	for {
		in, changed, err := s.Inbox.Fetch(r.Context(), who.Folder, who.Thread, after)
		if err != nil {
			return err
		}
		if tokens.Revoked(r.Context()) { // before this came
			return tokens.ErrUnauthorized
		}
		if len(in.Messages) > 0 {
			httpd.Answer(rw, http.StatusOK, in)
			return nil
		}
		select {
		case <-changed:
		case <-over:
			httpd.Answer(rw, http.StatusOK, in)
			return nil
		case <-r.Context().Done(): // the client has left, or the host or the token ends
			if tokens.Revoked(r.Context()) {
				return tokens.ErrUnauthorized
			}
			httpd.Answer(rw, http.StatusOK, in)
			return nil
		}
	}
}

// maxMessageID is more characters than any message's id has.
const maxMessageID = 200

// cursorOf is the cursor of a fetch; empty: from the first message.
func cursorOf(query url.Values) (string, error) {
	if all := query["after"]; len(all) > 1 || len(all) == 1 && len(all[0]) > maxMessageID {
		return "", httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"after" is no cursor`, "use the cursor of the last answer, or fetch without one")
	}
	return query.Get("after"), nil
}

// ofMessage is a call that concerns one message.
func (s *Server) ofMessage(do call) call {
	return func(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
		switch {
		case s.Inbox == nil:
			return errNoInbox
		case len(r.PathValue("id")) > maxMessageID:
			return errWhere
		}
		return do(rw, r, who)
	}
}

// ack ends a message, with the answer in its body or without one.
func (s *Server) ack(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	id := r.PathValue("id")
	answer, err := readAck(s.Limits, r.Header.Get("Content-Type"), s.Limits.Body(rw, r, s.Limits.Fields))
	if err != nil {
		return err
	}
	done, err := s.Inbox.Ack(r.Context(), who.Folder, who.Thread, id, answer)
	if err != nil {
		return err
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"id": id, "acknowledged": done})
	return nil
}

// unheard takes the word of a program that pushes messages into a session, that the session
// does not take one. It reads no body.
func (s *Server) unheard(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	id := r.PathValue("id")
	done, err := s.Inbox.Unheard(who.Folder, who.Thread, id)
	if err != nil {
		return err
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"id": id, "waits": done})
	return nil
}

// readAck reads the body of an acknowledgement: nothing, or an object with a text.
func readAck(l intake.Limits, contentType string, body io.Reader) (answer string, err error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return "", tooLarge(err, l.Fields)
	}
	if len(b) == 0 {
		return "", nil
	}
	if kind, _, err := mime.ParseMediaType(contentType); err != nil || kind != "application/json" {
		return "", httpd.Refuse(http.StatusUnsupportedMediaType, ipc.CodeMalformed, "the body is not JSON", "send application/json, or no body")
	}
	fields, err := flatObject(b, []string{fieldText})
	if err != nil {
		return "", err
	}
	return fields[fieldText], nil
}

const fieldText = "text" // of an acknowledgement: the answer

// messageFile sends a file of a message, or a range of it.
func (s *Server) messageFile(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	number := r.PathValue("number")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || strconv.Itoa(n) != number {
		return errWhere
	}
	f, about, err := s.Inbox.FetchFile(who.Folder, who.Thread, r.PathValue("id"), n)
	if err != nil {
		return err
	}
	defer f.Close()
	h := rw.Header()
	h.Set("Content-Type", "application/octet-stream") // whatever the member says that it is
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": media.SafeName(about.Name)}))
	http.ServeContent(rw, r, "", time.Time{}, whileValid{f, r.Context()})
	return nil
}

// whileValid is a file that is read no further once the caller's token is revoked.
type whileValid struct {
	io.ReadSeeker
	ctx context.Context
}

func (w whileValid) Read(p []byte) (int, error) {
	if err := httpd.Ended(w.ctx); err != nil {
		return 0, err
	}
	return w.ReadSeeker.Read(p)
}
