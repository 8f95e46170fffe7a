// Package modeltest is a model on loopback for tests: one small server that
// speaks as much of the model APIs as agent CLIs need in order to call a tool
// and to answer.
//
//	Anthropic  POST /v1/messages, /v1/messages/count_tokens
//	OpenAI     POST /v1/responses, /v1/chat/completions, GET /v1/models
//	Gemini     POST /v1beta/models/NAME:streamGenerateContent, :generateContent, :countTokens
//
// What it answers is a test's [Script], which sees the same [Request] whatever
// the API is. The server is no model of the services' errors, limits or
// billing, and it takes any key.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Request is one call of the model.
type Request struct {
	API     string   // anthropic, responses, chat or gemini
	Body    string   // as it came
	Tools   []Tool   // that the model may call
	Prompt  string   // the last words of the user
	Results []string // what tools answered since then, as the model sees it

	form *schema // that the answer is to have; nil: any words
}

// Tool is one that a request offers.
type Tool struct {
	Name      string
	Namespace string // of the responses API; empty elsewhere
}

// Answer is what the model says: words, or a call of a tool.
type Answer struct {
	Text string
	Call string         // a tool whose name ends so is called; without such a tool the answer is Text
	Args map[string]any // of the call

	Status int    // an HTTP error instead, with Text as its message
	Type   string // of the error, in the service's words; empty: a bad request
	Again  bool   // the error does not forbid to try again
	Hang   bool   // no answer until the client gives up
	Stall  bool   // the answer begins, and nothing more comes until the client gives up
	Cut    bool   // the answer begins, and the connection ends
}

// Script answers a request. Calls come one at a time.
type Script func(Request) Answer

// SendFile is the script of an assistant that sends the file at path and then
// says text with the tool's answer behind it.
func SendFile(path, text string) Script {
	return func(r Request) Answer {
		if len(r.Results) == 0 {
			return Answer{Text: text, Call: "send_file", Args: map[string]any{"file_path": path}}
		}
		return Answer{Text: text + " " + strings.Join(r.Results, " ")}
	}
}

// Server is a model that runs.
type Server struct {
	URL string // http://127.0.0.1:port

	mu       sync.Mutex
	script   Script
	requests []Request
	arrived  chan struct{} // one for each request that a script was asked
}

// New starts a model that ends with the test.
func New(t testing.TB, script Script) *Server {
	t.Helper()
	s := &Server{script: script, arrived: make(chan struct{}, 1000)}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Script replaces what the model answers from now on.
func (s *Server) Script(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Arrived tells of each request that offered tools, once.
func (s *Server) Arrived() <-chan struct{} { return s.arrived }

// Requests are the requests so far that offered tools. CLIs also ask for
// titles and the like, without tools; those are answered and left out.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Env is what points each CLI at the model. Operators set the same variables.
func (s *Server) Env() []string {
	return []string{
		"ANTHROPIC_BASE_URL=" + s.URL, "ANTHROPIC_API_KEY=test-key",
		"OPENAI_BASE_URL=" + s.URL + "/v1", "OPENAI_API_KEY=test-key",
		"GOOGLE_GEMINI_BASE_URL=" + s.URL, "GEMINI_API_KEY=test-key",
	}
}

// maxBody is more than any test sends.
const maxBody = 32 << 20

// ServeHTTP speaks all the APIs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client is gone
	}
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		reply(w, map[string]any{"input_tokens": 10})
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, map[string]any{"totalTokens": 10})
	case strings.HasSuffix(path, "/messages"):
		s.serve(w, r, body, readAnthropic, writeAnthropic)
	case strings.HasSuffix(path, "/responses"):
		s.serve(w, r, body, readResponses, writeResponses)
	case strings.HasSuffix(path, "/chat/completions"):
		s.serve(w, r, body, readChat, writeChat)
	case strings.Contains(path, "enerateContent"):
		s.serve(w, r, body, readGemini, writeGemini)
	case strings.HasSuffix(path, "/models"):
		reply(w, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
	default:
		http.Error(w, `{"error":{"message":"not found"}}`, http.StatusNotFound)
	}
}

// answer is an Answer with its tool found.
type answer struct {
	Answer
	tool   Tool
	script bool // tool runs JavaScript that calls the wanted one
	n      int  // how many requests there were
	stream bool
	model  string
}

// find looks for the tool that is to be called, and for one that runs scripts
// where it is not offered by itself.
func (a *answer) find(tools []Tool) {
	if i := slices.IndexFunc(tools, func(t Tool) bool { return strings.HasSuffix(t.Name, a.Call) }); i >= 0 {
		a.tool = tools[i]
	} else if i := slices.IndexFunc(tools, func(t Tool) bool { return t == Tool{"exec", "functions"} }); i >= 0 {
		a.tool, a.script = tools[i], true
	}
}

// id is unique and looks like one of the services'.
func (a answer) id(prefix string) string { return fmt.Sprintf("%s_%06d", prefix, a.n) }

func (a answer) args() string {
	b, err := json.Marshal(a.Args)
	if err != nil || a.Args == nil {
		return "{}"
	}
	return string(b)
}

// shape is what all APIs' requests have in common.
type shape struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte,
	read func([]byte) (Request, error), write func(http.ResponseWriter, answer)) {
	request, err := read(body)
	var common shape
	if err == nil {
		err = json.Unmarshal(body, &common)
	}
	if err != nil {
		http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
		return
	}
	request.Body = string(body)
	a := s.ask(request)
	a.stream, a.model = common.Stream || strings.Contains(r.URL.Path, ":stream"), common.Model
	switch {
	case a.Hang:
		<-r.Context().Done()
	case a.Stall, a.Cut:
		s.begin(w, r, a, write)
	case a.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		if !a.Again {
			w.Header().Set("X-Should-Retry", "false")
		}
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(a.problem())
	default:
		write(w, a)
	}
}

// problem is an error in a form that every API's client reads: the services of
// OpenAI tell their errors apart by the code, Google's by the status.
func (a answer) problem() map[string]any {
	if a.Type == "" {
		return map[string]any{"type": "error",
			"error": map[string]any{"type": "invalid_request_error", "code": a.Status, "message": a.Text, "status": "INVALID_ARGUMENT"}}
	}
	problem := map[string]any{"type": a.Type, "code": a.Type, "message": a.Text}
	if strings.ToUpper(a.Type) == a.Type {
		problem = map[string]any{"code": a.Status, "message": a.Text, "status": a.Type}
	}
	return map[string]any{"type": "error", "error": problem}
}

// begin writes the first half of an answer. Then it waits for the client to give up,
// or ends the connection.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, a answer, write func(http.ResponseWriter, answer)) {
	whole := httptest.NewRecorder()
	write(whole, a)
	events := strings.SplitAfter(whole.Body.String(), "\n\n")
	w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
	for _, event := range events[:len(events)/2] {
		fmt.Fprint(w, event)
	}
	_ = http.NewResponseController(w).Flush()
	if a.Cut {
		panic(http.ErrAbortHandler)
	}
	<-r.Context().Done()
}

// ask has the script answer. A request without tools is no turn of the
// assistant, but a title or summary that its CLI wants.
func (s *Server) ask(r Request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(r.Tools) == 0 && r.form != nil {
		return answer{Answer: Answer{Text: r.form.fill()}, n: len(s.requests)}
	}
	if len(r.Tools) == 0 {
		return answer{Answer: Answer{Text: "a title"}, n: len(s.requests)}
	}
	s.requests = append(s.requests, r)
	a := answer{Answer: s.script(r), n: len(s.requests)}
	if a.Call != "" {
		a.find(r.Tools)
	}
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	return a
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that is gone has nothing to be told
}

// stream is a reply of server-sent events.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

// event writes one; without a name only its data.
func (s stream) event(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		return
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", b)
}

// words is the text in a content that is a string, an object with text, or a
// list of those.
func words(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var all []string
	for _, p := range parts {
		if p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}
