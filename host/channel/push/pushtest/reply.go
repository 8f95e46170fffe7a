package pushtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Reply is what the receiver posts.
type Reply struct {
	Type   string      `json:"type"`
	Chat   string      `json:"chat"`
	ID     string      `json:"id"`
	Thread string      `json:"thread,omitempty"`
	From   string      `json:"from,omitempty"`
	Sender string      `json:"sender,omitempty"`
	Text   string      `json:"text,omitempty"`
	Direct bool        `json:"direct,omitempty"`
	Quote  *Quote      `json:"quote,omitempty"`
	Files  []ReplyFile `json:"files,omitempty"`

	Forwarded bool   `json:"forwarded,omitempty"`
	Author    string `json:"author,omitempty"`
}

// Quote is what a reply answers.
type Quote struct {
	ID        string      `json:"id"`
	From      string      `json:"from,omitempty"`
	Text      string      `json:"text,omitempty"`
	Selected  string      `json:"selected,omitempty"`
	Files     []ReplyFile `json:"files,omitempty"`
	Forwarded bool        `json:"forwarded,omitempty"`
	Elsewhere bool        `json:"elsewhere,omitempty"`
}

// ReplyFile is a file of a reply.
type ReplyFile struct {
	URL  string `json:"url"`
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Size int    `json:"size,omitempty"`
}

var ids atomic.Int64

// NewID is an id that no other has.
func NewID() string { return fmt.Sprintf("msg_%d_%d", time.Now().UnixNano(), ids.Add(1)) }

// Request is a signed reply, which a test may spoil before it sends it.
func (r *Receiver) Request(ctx context.Context, to, id string, at time.Time, reply any) (*http.Request, error) {
	body, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", seconds)
	req.Header.Set("webhook-signature", Sign(r.key, id, seconds, body))
	req.Close = true // tests count goroutines
	return req, nil
}

// Do sends a request, and returns the status and the code of a refusal.
func Do(req *http.Request) (status int, code string, err error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", err
	}
	var said struct{ Error struct{ Code string } }
	_ = json.Unmarshal(text, &said) // of an answer that is no JSON, the status counts
	return res.StatusCode, said.Error.Code, nil
}

// Post posts a reply as a receiver should.
func (r *Receiver) Post(ctx context.Context, to string, reply Reply) error {
	req, err := r.Request(ctx, to, NewID(), time.Now(), reply)
	if err != nil {
		return err
	}
	status, code, err := Do(req)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("the host answers %d %s", status, code)
	}
	return err
}

// Keep keeps a file of a member, and returns its address.
func (r *Receiver) Keep(name string, data []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[name] = data
	return r.Origin + "/files/" + name
}

// Forget forgets the files of members.
func (r *Receiver) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.files)
}

func (r *Receiver) file(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	data, ok := r.files[req.PathValue("name")]
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, req)
		return
	}
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(data))
}
