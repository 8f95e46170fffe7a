package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

func TestAMemberSpeaks(t *testing.T) {
	s := start(t, options(t.TempDir()))
	m := s.say("hello <b>you</b>")
	in := s.in.received()
	if len(in) != 1 || in[0].ID != m.ID || in[0].Chat != "web:family" || in[0].From != "Ann" || in[0].Text != "hello <b>you</b>" || in[0].Direct {
		t.Errorf("the host got %+v", in)
	}
	if m.Status != history.Received || m.Assistant || m.Time.IsZero() {
		t.Errorf("the answer is %+v", m)
	}
	if got := s.history(""); len(got) != 1 || got[0].ID != m.ID {
		t.Errorf("the history holds %+v", got)
	}
	if res, b := s.do("GET", "/api/chats/work/messages", nil); res.StatusCode != 200 || !strings.Contains(string(b), `"messages":[]`) {
		t.Errorf("the other chat: %d %s", res.StatusCode, b)
	}
}

func TestAReplyToTheAssistantIsDirect(t *testing.T) {
	s := start(t, options(t.TempDir()))
	id := s.send(channel.Message{Text: "anything else?"}).ID
	s.posted(s.do("POST", "/api/chats/family/messages", strings.NewReader(`{"text":"no","replyTo":"`+id+`"}`), "Content-Type", "application/json"))
	in := s.in.received()[0]
	if !in.Direct || in.Quote == nil || in.Quote.ID != id || !in.Quote.Own || in.Quote.From != "Andy" || in.Quote.Text != "anything else?" || in.From != "Member" {
		t.Errorf("the host got %+v, quote %+v", in, in.Quote)
	}
}

// An answer brought only the first file of what it answers, and the beginning of its text.
func TestAnAnswerBringsAllThatItAnswers(t *testing.T) {
	s := start(t, options(t.TempDir()))
	long := strings.Repeat("words ", 200) + "end"
	ms := s.posted(s.upload(map[string]string{"text": long, "from": "Bob", "forwarded": "Cy\u202e"}, attachment{"a.txt", []byte("alpha")}, attachment{"b.txt", []byte("beta")}))
	s.posted(s.upload(map[string]string{"text": "so?", "from": "Ann", "replyTo": ms[0].ID}))
	in := s.in.received()
	if f := in[0]; !f.Forwarded || f.Author != "Cy" || ms[1].Forwarded != "Cy" {
		t.Errorf("what is forwarded came in as %+v", f)
	}
	if q := in[1].Quote; q == nil || q.Text != long || !q.Forwarded || len(q.Files) != 2 || q.Files[1].Name != "b.txt" {
		t.Errorf("the answer brings %+v", q)
	}
}

func TestSeveralFilesAreOneMessageToTheHost(t *testing.T) {
	s := start(t, options(t.TempDir()))
	files := []attachment{{"a.txt", []byte("alpha")}, {"b.txt", []byte("beta")}}
	ms := s.posted(s.upload(map[string]string{"text": "two", "from": "Bob"}, files...))
	if len(ms) != 2 || ms[0].Text != "two" || ms[1].Text != "" || ms[0].File.Name != "a.txt" || ms[1].File.Name != "b.txt" {
		t.Fatalf("the answer is %+v", ms)
	}
	in := s.in.received()
	if len(in) != 1 || len(in[0].Files) != 2 || in[0].ID != ms[0].ID || in[0].Files[1].Size != 4 {
		t.Fatalf("the host got %+v", in)
	}
	for i, f := range files {
		if !bytes.Equal(s.in.bodies[i], f.body) {
			t.Errorf("the host read %q, want %q", s.in.bodies[i], f.body)
		}
		if _, b := s.do("GET", ms[i].File.URL, nil); !bytes.Equal(b, f.body) {
			t.Errorf("the page reads %q, want %q", b, f.body)
		}
	}
}

// A post is in the page's own store before it is answered: a host that cannot
// take it, or dies, has it later, once.
func TestWhatTheHostDoesNotKeepComesToTheNextOne(t *testing.T) {
	opts := options(t.TempDir())
	in, refused := newInbox(), make(chan struct{}, 100)
	in.receive = func(context.Context, channel.Inbound) error {
		refused <- struct{}{}
		return errors.New("the disk at /secret/path is full")
	}
	s := startWith(t, opts, in)
	ms := s.posted(s.upload(map[string]string{"text": "x", "from": "Bob"}, attachment{"a.txt", []byte("alpha")}))
	<-refused
	if got := s.history(""); len(got) != 1 || got[0].ID != ms[0].ID {
		t.Errorf("shown: %+v", got)
	}
	s.stop()
	s = start(t, opts)
	s.in.wait(t, func() bool { return len(s.in.kept) == 1 })
	if m := s.in.received()[0]; m.ID != ms[0].ID || m.Text != "x" || m.From != "Bob" || string(s.in.bodies[0]) != "alpha" {
		t.Errorf("the host got %+v", m)
	}
	s.stop()
	s = start(t, opts)
	s.say("next")
	if got := s.in.received(); len(got) != 1 || got[0].Text != "next" {
		t.Errorf("the next host got %+v", got)
	}
}

// A browser that did not hear the answer posts again.
func TestTheSameKeyIsOnePost(t *testing.T) {
	s := start(t, options(t.TempDir()))
	fields := map[string]string{"text": "once", "key": "0123456789abcdef"}
	first := s.posted(s.upload(fields, attachment{"a.txt", []byte("alpha")}))
	second := s.posted(s.upload(fields, attachment{"a.txt", []byte("alpha")}))
	if len(second) != 1 || first[0].ID != second[0].ID || len(s.in.received()) != 1 || len(s.history("")) != 1 {
		t.Errorf("first %+v, second %+v, the host got %d", first, second, len(s.in.received()))
	}
}

// The assistant may answer within Receive; its answer still comes second.
func TestTheAnswerComesAfterTheQuestion(t *testing.T) {
	s := start(t, options(t.TempDir()))
	done := make(chan struct{})
	answering(s, func(m channel.Inbound) channel.Message {
		defer close(done)
		return channel.Message{Text: "answer", ReplyTo: m.ID}
	})
	s.say("question")
	<-done
	var got []history.Message
	for len(got) < 2 {
		got = s.history("")
	}
	if texts(got) != "question;answer;" || got[1].Quote == nil || got[1].Quote.Text != "question" {
		t.Errorf("the history is %s, the quote %+v", texts(got), got[1].Quote)
	}
}

func TestPostsThatAreRefused(t *testing.T) {
	opts := options(t.TempDir())
	opts.MaxUpload, opts.MaxFiles, opts.Quota = 1000, 2, 1500
	s := start(t, opts)
	const kind = "application/json"
	for name, c := range map[string]struct {
		body, kind string
		status     int
		code       string
	}{
		"nothing":         {`{}`, kind, 400, "empty"},
		"blank":           {`{"text":" \n "}`, kind, 400, "empty"},
		"no json":         {`hello`, kind, 400, "bad_json"},
		"unknown field":   {`{"text":"x","admin":true}`, kind, 400, "bad_json"},
		"two objects":     {`{"text":"x"}{"text":"y"}`, kind, 400, "bad_json"},
		"a form's type":   {`text=x`, "application/x-www-form-urlencoded", 415, "bad_content_type"},
		"no type":         {`{"text":"x"}`, "", 415, "bad_content_type"},
		"plain text":      {`{"text":"x"}`, "text/plain", 415, "bad_content_type"},
		"long text":       {`{"text":"` + strings.Repeat("x", 20_001) + `"}`, kind, 413, "text_too_long"},
		"longer text":     {`{"text":"` + strings.Repeat("x", 300_000) + `"}`, kind, 413, "text_too_long"},
		"odd key":         {`{"text":"x","key":"../../etc"}`, kind, 400, "bad_key"},
		"odd reply":       {`{"text":"x","replyTo":"a b"}`, kind, 400, "bad_reply"},
		"no boundary":     {`x`, "multipart/form-data", 415, "bad_content_type"},
		"a broken form":   {"--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhalf", "multipart/form-data; boundary=b", 400, "bad_form"},
		"a field unknown": {"--b\r\nContent-Disposition: form-data; name=\"admin\"\r\n\r\n1\r\n--b--\r\n", "multipart/form-data; boundary=b", 400, "unknown_field"},
	} {
		t.Run(name, func(t *testing.T) {
			res, b := s.do("POST", "/api/chats/family/messages", strings.NewReader(c.body), "Content-Type", c.kind)
			expectProblem(t, res, b, c.status, c.code)
		})
	}
	big := attachment{"big.bin", make([]byte, 1001)}
	small := attachment{"small.bin", make([]byte, 900)}
	res, b := s.upload(nil, big)
	expectProblem(t, res, b, 413, "file_too_large")
	if !strings.Contains(string(b), "big.bin") || !strings.Contains(string(b), "1,000 bytes") {
		t.Errorf("the refusal does not name file and limit: %s", b)
	}
	res, b = s.upload(nil, attachment{"empty.txt", nil})
	expectProblem(t, res, b, 400, "file_empty")
	res, b = s.upload(nil, small, small, small)
	expectProblem(t, res, b, 413, "too_many_files")
	if len(s.in.received()) != 0 || len(stored(t, opts.Dir)) != 0 {
		t.Error("a refused post left something")
	}
	s.posted(s.upload(nil, attachment{"exact.bin", make([]byte, 1000)}))
	s.posted(s.upload(nil, small))
	res, b = s.upload(nil, small)
	expectProblem(t, res, b, 507, "quota")
	res, b = s.do("POST", "/api/chats/nobody/messages", strings.NewReader(`{"text":"x"}`), "Content-Type", kind)
	expectProblem(t, res, b, 404, "unknown_chat")
}

func TestADiskThatIsAlmostFullTakesNoFiles(t *testing.T) {
	opts := options(t.TempDir())
	opts.KeepFree = 1 << 60
	s := start(t, opts)
	res, b := s.upload(nil, attachment{"a.txt", []byte("x")})
	expectProblem(t, res, b, 507, "disk_full")
	s.say("texts still go through")
}

func expectProblem(t *testing.T, res *http.Response, body []byte, status int, code string) {
	t.Helper()
	var out struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%d, no JSON: %s", res.StatusCode, body)
	}
	if res.StatusCode != status || out.Error.Code != code || out.Error.Message == "" {
		t.Errorf("got %d %s, want %d %s", res.StatusCode, body, status, code)
	}
}

func TestNamesAreMadeHarmless(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for name, want := range map[string]string{
		"Ann\u202etxt.exe":       "Anntxt.exe",
		"  a \n\n b\t":           "a b",
		"\x1b[31mred":            "[31mred",
		"":                       "Member",
		"\u200b\u200e":           "Member",
		strings.Repeat("é", 100): strings.Repeat("é", 63) + "…",
	} {
		b, _ := json.Marshal(map[string]string{"text": "x", "from": name})
		m := s.posted(s.do("POST", "/api/chats/family/messages", bytes.NewReader(b), "Content-Type", "application/json"))[0]
		if m.From != want {
			t.Errorf("%q became %q, want %q", name, m.From, want)
		}
	}
	m := s.posted(s.do("POST", "/api/chats/family/messages", strings.NewReader(`{"text":"a\u0000b\u001b[0m\r\nc\td"}`), "Content-Type", "application/json"))[0]
	if m.Text != "ab[0m\nc\td" {
		t.Errorf("the text became %q", m.Text)
	}
}

func TestManyMembersAtOnce(t *testing.T) {
	s := start(t, options(t.TempDir()))
	const n = 40
	errs := make(chan error, n)
	for i := range n {
		go func() {
			res, err := http.Post(s.at("/api/chats/family/messages"), "application/json", strings.NewReader(fmt.Sprintf(`{"text":"m%d"}`, i)))
			if err == nil {
				res.Body.Close()
				if res.StatusCode != 201 {
					err = errors.New(res.Status)
				}
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := len(s.history("")); got != n {
		t.Errorf("%d messages, want %d", got, n)
	}
}

// answering makes the assistant say what reply makes of a member's message.
func answering(s *site, reply func(channel.Inbound) channel.Message) {
	s.in.receive = func(ctx context.Context, m channel.Inbound) error {
		s.Typing(ctx, m.Chat, "", true)
		go func() {
			defer s.Typing(context.Background(), m.Chat, "", false)
			r := reply(m)
			r.ID, r.Chat = newID(), m.Chat
			if _, err := s.Send(context.Background(), r); err != nil {
				s.t.Error(err)
			}
		}()
		return nil
	}
}
