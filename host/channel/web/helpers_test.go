package web_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

// inbox keeps what the channel hands to the host.
type inbox struct {
	receive func(context.Context, channel.Inbound) error // nil: keep
	fetch   func(context.Context, channel.FileRef) (io.ReadCloser, error)

	mu      sync.Mutex
	kept    []channel.Inbound
	bodies  [][]byte // of all attachments, in order
	reports []string // "<id> <state>"
	changed chan struct{}
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{})} }

func (in *inbox) Receive(ctx context.Context, m channel.Inbound) error {
	m.Entry = nil
	if in.receive != nil {
		if err := in.receive(ctx, m); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, f := range m.Files {
		r, err := in.fetch(ctx, channel.FileRef{Chat: m.Chat, Ref: f.Ref})
		if err != nil {
			return err
		}
		b, err := io.ReadAll(r)
		if err := r.Close(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		in.bodies = append(in.bodies, b)
	}
	in.kept = append(in.kept, m)
	in.signal()
	return nil
}

func (in *inbox) Report(_ context.Context, _ groups.JID, id string, s channel.State) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reports = append(in.reports, id+" "+string(s))
	in.signal()
}

func (in *inbox) signal() {
	close(in.changed)
	in.changed = make(chan struct{})
}

// wait blocks until ok holds, which is called with the lock held.
func (in *inbox) wait(t testing.TB, ok func() bool) {
	t.Helper()
	for {
		in.mu.Lock()
		done, changed := ok(), in.changed
		in.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("the inbox never came to hold what was waited for")
		}
	}
}

func (in *inbox) received() []channel.Inbound {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]channel.Inbound(nil), in.kept...)
}

// site is a channel that runs.
type site struct {
	*web.Web
	in     *inbox
	t      testing.TB
	client http.Client
	stop   func() // ends Run and closes the state; the clean-up does it too
}

// setup is a page, and the directory of its state.
type setup struct {
	web.Options
	Dir   string
	place blob.Place // nil: files lie in the state
}

func options(dir string) setup {
	return setup{Dir: dir, Options: web.Options{
		Listen: "127.0.0.1:0", Terms: web.Terms{
			AssistantName: "Andy", Chats: []channel.NamedChat{{JID: "web:family", Name: "Family"}, {JID: "web:work", Name: "Work & Co"}},
		},
	}}
}

// opened is a channel that listens.
func opened(o setup) (*web.Web, error) {
	w, err := web.New(o.Options)
	if err != nil {
		return nil, err
	}
	return w, w.Open(context.Background())
}

// opens opens the state until the test ends.
func (o setup) opens(t testing.TB) setup {
	t.Helper()
	o.State = statetest.Open(t, o.Dir)
	return o
}

func start(t testing.TB, opts setup) *site {
	t.Helper()
	return startWith(t, opts, newInbox())
}

func startWith(t testing.TB, opts setup, in *inbox) *site {
	t.Helper()
	var err error
	if opts.State, err = state.OpenAt(t.Context(), statetest.Spec(opts.Dir), opts.place, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	w, err := opened(opts)
	if err != nil {
		t.Fatal(err)
	}
	in.fetch = w.Fetch
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, in) }()
	s := &site{Web: w, in: in, t: t}
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := opts.State.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	t.Cleanup(s.stop)
	for ok, _ := w.Connected(); !ok; ok, _ = w.Connected() {
		res, err := http.Get(w.URL() + "api/chats")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	return s
}

func (s *site) at(path string) string { return strings.TrimSuffix(s.URL(), "/") + path }

// do sends a request and returns the answer with its body read.
func (s *site) do(method, path string, body io.Reader, header ...string) (*http.Response, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.at(path), body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	client := s.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, b
}

func (s *site) say(text string) history.Message {
	s.t.Helper()
	b, _ := json.Marshal(map[string]string{"text": text, "from": "Ann"})
	return s.posted(s.do("POST", "/api/chats/family/messages", bytes.NewReader(b), "Content-Type", "application/json"))[0]
}

// posted waits until the host has what was posted.
func (s *site) posted(res *http.Response, body []byte) []history.Message {
	s.t.Helper()
	if res.StatusCode != http.StatusCreated {
		s.t.Fatalf("post answered %d: %s", res.StatusCode, body)
	}
	ms := s.decode(body)
	if s.in.receive == nil {
		s.in.wait(s.t, func() bool {
			return slices.ContainsFunc(s.in.kept, func(m channel.Inbound) bool { return m.ID == ms[0].ID })
		})
	}
	return ms
}

func (s *site) decode(body []byte) []history.Message {
	s.t.Helper()
	var out struct{ Messages []history.Message }
	if err := json.Unmarshal(body, &out); err != nil {
		s.t.Fatalf("%v in %s", err, body)
	}
	return out.Messages
}

func (s *site) history(query string) []history.Message {
	s.t.Helper()
	res, b := s.do("GET", "/api/chats/family/messages"+query, nil)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("history answered %d: %s", res.StatusCode, b)
	}
	return s.decode(b)
}

// attachment is a file of a form.
type attachment struct {
	name string
	body []byte
}

func form(t testing.TB, fields map[string]string, files ...attachment) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for k, v := range fields {
		if err := m.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		name := strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(f.name) // as browsers do
		p, err := m.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="files"; filename="` + name + `"`}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(f.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, m.FormDataContentType()
}

func (s *site) upload(fields map[string]string, files ...attachment) (*http.Response, []byte) {
	s.t.Helper()
	body, kind := form(s.t, fields, files...)
	return s.do("POST", "/api/chats/family/messages", body, "Content-Type", kind)
}

// newID makes a message id as the outbox does.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// reader is an outbox file in memory.
type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

func outgoing(name, mime string, kind media.Kind, body []byte) []channel.File {
	sum := sha256.Sum256(body)
	return []channel.File{{
		Info:    media.Info{Name: name, MIME: mime, Kind: kind, Size: int64(len(body))},
		SHA256:  hex.EncodeToString(sum[:]),
		Content: channel.Bytes(body),
	}}
}

func (s *site) send(m channel.Message) channel.Receipt {
	s.t.Helper()
	if m.ID == "" {
		m.ID = newID()
	}
	if m.Chat == "" {
		m.Chat = "web:family"
	}
	r, err := s.Send(s.t.Context(), m)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func texts(ms []history.Message) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&b, "%s;", m.Text)
	}
	return b.String()
}
