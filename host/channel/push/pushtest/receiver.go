// Package pushtest is the other side of the push channel: a receiver that takes
// messages, verifies them, and can fail in every way, and that posts replies. It
// shares no code with the channel: both follow docs/push.md.
package pushtest

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault is how one post goes wrong. The zero Fault is none.
type Fault struct {
	Status int               // is answered before anything is read; 0: the message is taken
	Header map[string]string // of that answer
	Lost   bool              // the message is taken, and the connection breaks before the answer
	Late   int               // the message is taken, and this status is answered
	Stall  chan struct{}     // is closed when the post has come, which is then never answered
	Answer string            // instead of {"id": …}
}

// Receiver is a receiver on loopback.
type Receiver struct {
	URL    string // where messages are posted
	Origin string // where its files lie

	key   []byte
	chats []string
	srv   *httptest.Server
	end   chan struct{} // closed when the test ends

	mu     sync.Mutex
	news   chan struct{} // closed and replaced with each message
	shown  []Message
	byID   map[string]string // what was answered, by webhook-id
	faults []Fault
	posts  int
	files  map[string][]byte
}

// Secret is whsec_ and 32 random bytes.
func Secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}

// New starts a receiver with these chats; it ends with the test.
func New(t testing.TB, secret string, chats ...string) *Receiver {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	r := &Receiver{key: key, chats: chats, end: make(chan struct{}), news: make(chan struct{}), byID: map[string]string{}, files: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /messages", r.post)
	mux.HandleFunc("GET /files/{name}", r.file)
	r.srv = httptest.NewServer(mux)
	r.Origin, r.URL = r.srv.URL, r.srv.URL+"/messages"
	t.Cleanup(func() {
		close(r.end)
		r.srv.CloseClientConnections()
		r.srv.Close()
	})
	return r
}

// Next tells how the coming posts go, one Fault each.
func (r *Receiver) Next(faults ...Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, faults...)
}

// Posts is how many posts have come.
func (r *Receiver) Posts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.posts
}

// Shown waits for n messages of a chat and returns all of them.
func (r *Receiver) Shown(t testing.TB, chat string, n int) []Message {
	t.Helper()
	patience := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		var mine []Message
		for _, m := range r.shown {
			if m.Chat == chat {
				mine = append(mine, m)
			}
		}
		news := r.news
		r.mu.Unlock()
		if len(mine) >= n {
			return mine
		}
		select {
		case <-news:
		case <-patience:
			t.Fatalf("%d messages of %s were shown, want %d", len(mine), chat, n)
		}
	}
}

func (r *Receiver) next() Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts++
	if len(r.faults) == 0 {
		return Fault{}
	}
	f := r.faults[0]
	r.faults = r.faults[1:]
	return f
}

func (r *Receiver) post(w http.ResponseWriter, req *http.Request) {
	f := r.next()
	if f.Stall != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		close(f.Stall)
		select {
		case <-r.end:
		case <-req.Context().Done():
		}
		return
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	if f.Status != 0 {
		http.Error(w, "as the test wishes", f.Status)
		return
	}
	m, err := r.read(req)
	status := http.StatusUnprocessableEntity
	if errors.Is(err, errSignature) {
		status = http.StatusUnauthorized
	} else if err == nil && !slices.Contains(r.chats, m.Chat) {
		status, err = http.StatusNotFound, errors.New("no such chat")
	}
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	r.answer(w, f, r.show(m))
}

func (r *Receiver) answer(w http.ResponseWriter, f Fault, given string) {
	switch {
	case f.Lost:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	case f.Late != 0:
		w.WriteHeader(f.Late)
	case f.Answer != "":
		fmt.Fprint(w, f.Answer)
	default:
		fmt.Fprintf(w, `{"id": %q}`, given)
	}
}

// show shows a message, unless its id was shown before.
func (r *Receiver) show(m Message) (given string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if given, ok := r.byID[m.ID]; ok {
		return given
	}
	m.Given = fmt.Sprintf("R%06d", len(r.byID)+1)
	r.byID[m.ID] = m.Given
	r.shown = append(r.shown, m)
	close(r.news)
	r.news = make(chan struct{})
	return m.Given
}
