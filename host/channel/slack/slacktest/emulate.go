package slacktest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// Emulated is the workspace of npm's emulate behind the Socket Mode and the faults of
// a Server: what it keeps, answers and tells of was written by nobody here. Its
// methods stand before those of the Server, which know nothing of this workspace.
type Emulated struct {
	*Server
	Anna          string // a member
	Open, Private string // channels with Anna and the bot

	t        testing.TB
	upstream string
	client   *http.Client
}

const (
	annasToken = "xoxp-anna"
	secret     = "signs what emulate posts"
)

// Emulate starts one, which ends with the test. The test is skipped without npm.
func Emulate(t testing.TB) *Emulated {
	t.Helper()
	transport := &http.Transport{}
	e := &Emulated{t: t, client: &http.Client{Transport: transport}}
	e.Server = start(t, e.routes)
	t.Cleanup(transport.CloseIdleConnections)
	n := npmtest.Start(t, programs, "testdata/emulate/emulate.mjs", e.srv.URL, e.srv.URL+"/events")
	n.Say(t, e.seed())
	var listening struct{ Port int }
	n.Next(t, &listening)
	e.upstream = fmt.Sprintf("http://127.0.0.1:%d", listening.Port)
	e.Anna = e.call("auth.test", object{})["user_id"].(string)
	for _, ch := range e.call("conversations.list", object{"types": "public_channel,private_channel"})["channels"].([]any) {
		ch := ch.(object)
		switch ch["name"] {
		case "open":
			e.Open = ch["id"].(string)
		case "private":
			e.Private = ch["id"].(string)
		default:
			continue
		}
		e.call("conversations.invite", object{"channel": ch["id"], "users": e.BotUser})
	}
	return e
}

// seed is what emulate starts with.
func (e *Emulated) seed() object {
	all := append(slices.Clone(Scopes), "channels:manage", "channels:write", "groups:write")
	return object{
		"users":    []object{{"name": "anna"}},
		"channels": []object{{"name": "open"}, {"name": "private", "is_private": true}},
		"oauth_apps": []object{{
			"client_id": "1.2", "client_secret": "none", "app_id": e.AppID, "name": "Longshore", "redirect_uris": []string{},
			"bot_id": e.BotID, "bot_user_id": e.BotUser, "bot_name": "longshore", "scopes": Scopes,
		}},
		"tokens": []object{
			{"token": e.BotToken, "type": "bot", "user_id": e.BotUser, "bot_id": e.BotID, "bot_user_id": e.BotUser, "app_id": e.AppID, "scopes": Scopes},
			{"token": annasToken, "type": "user", "user": "anna", "scopes": all},
		},
		"signing_secret": secret, "strict_scopes": true,
	}
}

// Post posts Anna's message.
func (e *Emulated) Post(channel, text string) (ts string) { return e.PostInThread(channel, "", text) }

// PostInThread posts Anna's message into a thread.
func (e *Emulated) PostInThread(channel, thread, text string) (ts string) {
	args := object{"channel": channel, "text": text}
	if thread != "" {
		args["thread_ts"] = thread
	}
	return e.call("chat.postMessage", args)["ts"].(string)
}

// Upload posts Anna's file with a text.
func (e *Emulated) Upload(channel, thread, text, name string, data []byte) {
	up := e.call("files.getUploadURLExternal", object{"filename": name, "length": len(data)})
	res, err := e.client.Post(up["upload_url"].(string), "application/octet-stream", bytes.NewReader(data))
	if err != nil {
		e.t.Fatal(err)
	}
	res.Body.Close()
	args := object{"files": []object{{"id": up["file_id"]}}, "channel_id": channel, "initial_comment": text}
	if thread != "" {
		args["thread_ts"] = thread
	}
	e.call("files.completeUploadExternal", args)
}

// Messages are the messages of a channel and all its threads, the oldest first, as
// Anna sees them.
func (e *Emulated) Messages(channel string) []Message {
	var all []Message
	for _, parent := range e.read("conversations.history", object{"channel": channel, "limit": 1000}) {
		all = append(all, e.read("conversations.replies", object{"channel": channel, "ts": parent.TS})...)
	}
	slices.SortFunc(all, func(a, b Message) int { return compareTS(a.TS, b.TS) })
	return all
}

// Reacted says whether the bot reacted so to a message.
func (e *Emulated) Reacted(channel, ts, name string) bool {
	m := e.call("reactions.get", object{"channel": channel, "timestamp": ts, "full": true})["message"].(object)
	all, _ := m["reactions"].([]any)
	return slices.ContainsFunc(all, func(r any) bool {
		users, _ := r.(object)["users"].([]any)
		return r.(object)["name"] == name && slices.Contains(users, any(e.BotUser))
	})
}

// FromBot are those that the bot posted.
func (e *Emulated) FromBot(channel string) []Message {
	return slices.DeleteFunc(e.Messages(channel), func(m Message) bool { return m.User != e.BotUser })
}

// WaitFor waits for n messages of the bot, and returns all of them.
func (e *Emulated) WaitFor(t testing.TB, channel string, n int) []Message {
	t.Helper()
	e.Wait(t, "messages of the bot", func() bool { return len(e.FromBot(channel)) >= n })
	return e.FromBot(channel)
}

// read reads messages.
func (e *Emulated) read(method string, args object) (all []Message) {
	text, err := json.Marshal(e.call(method, args)["messages"])
	if err != nil {
		e.t.Fatal(err)
	}
	var read []struct {
		TS, Text, User string
		Thread         string `json:"thread_ts"`
		Metadata       *Metadata
		Files          []struct {
			ID, Name, Title, MIMEType string
			Alt                       string `json:"alt_txt"`
			Size                      int64
			URL                       string `json:"url_private"`
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		e.t.Fatal(err)
	}
	for _, r := range read {
		m := Message{TS: r.TS, Thread: r.Thread, Text: r.Text, User: r.User, Metadata: r.Metadata}
		for _, f := range r.Files {
			one := File{ID: f.ID, Name: f.Name, Title: f.Title, AltText: f.Alt, MIME: f.MIMEType, Size: f.Size, path: filepath.Join(e.dir, f.ID)}
			one.SHA256 = e.fetch(f.URL, one.path)
			m.Files = append(m.Files, one)
		}
		all = append(all, m)
	}
	return all
}

// fetch fetches a file, and returns its hash.
func (e *Emulated) fetch(from, to string) string {
	status, _, data, err := e.do(http.MethodGet, e.upstream+strings.TrimPrefix(from, e.srv.URL), http.Header{"Authorization": {"Bearer " + annasToken}}, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: %d", from, status)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// call calls a method as Anna, past all faults.
func (e *Emulated) call(method string, args object) object {
	body, err := json.Marshal(args)
	if err != nil {
		e.t.Fatal(err)
	}
	_, _, text, err := e.do(http.MethodPost, e.upstream+"/api/"+method, http.Header{"Authorization": {"Bearer " + annasToken}, "Content-Type": {"application/json"}}, body)
	var answer object
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || answer["ok"] != true {
		e.t.Fatalf("emulate answers %s to %s: %v", text, method, err)
	}
	return answer
}

func (e *Emulated) do(method, to string, header http.Header, body []byte) (status int, _ http.Header, _ []byte, err error) {
	req, err := http.NewRequest(method, to, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = header
	res, err := e.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, text, err
}

func (e *Emulated) routes(s *Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("method", "apps.connections.open")
		s.api(w, r)
	})
	mux.HandleFunc("GET /link/", s.socket)
	mux.HandleFunc("POST /events", e.event)
	mux.HandleFunc("/api/{method}", func(w http.ResponseWriter, r *http.Request) { e.forward(w, r, r.PathValue("method")) })
	mux.HandleFunc("/upload/", func(w http.ResponseWriter, r *http.Request) { e.forward(w, r, "upload") })
	mux.HandleFunc("/files-pri/", func(w http.ResponseWriter, r *http.Request) { e.forward(w, r, "download") })
	return mux
}

// forward hands a request to emulate. Of NoShare, Cut and Share of a Fault it knows
// nothing.
func (e *Emulated) forward(w http.ResponseWriter, r *http.Request, name string) {
	f := e.Take(name)
	if f.Unread {
		breaks(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if f.instead(w) {
		return
	}
	header := http.Header{"Content-Type": r.Header["Content-Type"], "Authorization": r.Header["Authorization"]}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Get("token") != "" { // emulate takes a token by header alone
		header.Set("Authorization", "Bearer "+form.Get("token"))
	}
	status, answered, answer, err2 := e.do(r.Method, e.upstream+r.URL.RequestURI(), header, body)
	if err != nil || err2 != nil || f.Lost {
		breaks(w)
		return
	}
	if f.After != nil {
		f.After()
	}
	w.Header().Set("Content-Type", answered.Get("Content-Type"))
	if strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("X-Oauth-Scopes", strings.Join(Scopes, ","))
		status, answer = asSlackAnswers(status, answer)
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// asSlackAnswers mends what emulate answers otherwise than Slack: to a method that it
// does not have, and for a file's initial_comment, which is an object.
func asSlackAnswers(status int, answer []byte) (int, []byte) {
	if status == http.StatusNotFound {
		return http.StatusOK, []byte(`{"ok":false,"error":"unknown_method"}`)
	}
	if !bytes.Contains(answer, []byte(`"initial_comment"`)) {
		return status, answer
	}
	var all any
	if json.Unmarshal(answer, &all) != nil {
		return status, answer
	}
	withoutComments(all)
	mended, err := json.Marshal(all)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return status, mended
}

// withoutComments removes the initial_comment of every file.
func withoutComments(in any) {
	switch in := in.(type) {
	case object:
		delete(in, "initial_comment")
		for _, v := range in {
			withoutComments(v)
		}
	case []any:
		for _, v := range in {
			withoutComments(v)
		}
	}
}

// event makes an event that emulate posts one of Socket Mode, with what emulate
// leaves out: the kind of the channel, and that a mention is an event, too.
func (e *Emulated) event(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", r.Header.Get("X-Slack-Request-Timestamp"), body)
	var payload object
	if err == nil {
		err = json.Unmarshal(body, &payload)
	}
	event, ok := payload["event"].(object)
	if err != nil || !ok || r.Header.Get("X-Slack-Signature") != "v0="+hex.EncodeToString(mac.Sum(nil)) {
		e.t.Errorf("emulate posts %s, signed %q: %v", body, r.Header.Get("X-Slack-Signature"), err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	payload["api_app_id"] = e.AppID
	if event["type"] == "message" {
		event["event_ts"] = event["ts"]
		event["channel_type"] = map[bool]string{true: Private, false: Public}[event["channel"] == e.Private]
	}
	e.emit(payload)
	if text, _ := event["text"].(string); event["type"] == "message" && event["user"] != e.BotUser && strings.Contains(text, Mention(e.BotUser)) {
		mention, again := maps.Clone(event), maps.Clone(payload)
		mention["type"] = "app_mention"
		again["event"], again["event_id"] = mention, fmt.Sprint(payload["event_id"], "M")
		e.emit(again)
	}
	e.Changed()
}
