package slacktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

type object = map[string]any

// refusal is Slack's word for why a call is refused.
type refusal string

func (r refusal) Error() string { return string(r) }

// method is one of the API. Any of its scopes is enough; do runs under the lock.
type method struct {
	scopes []string
	reads  bool   // takes no JSON, and may be a GET
	takes  string // the names of its arguments, if no others are taken
	do     func(*Server, args) (object, error)
	after  func(*Server, args, Fault) // runs after the answer, in a goroutine
}

var (
	reads = []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	hears = []string{"channels:history", "groups:history", "im:history", "mpim:history"}
)

// methods are those that are here; another one is unknown_method.
func methods() map[string]method {
	return map[string]method{
		"auth.test":                    {do: (*Server).authTest},
		"apps.connections.open":        {do: (*Server).open},
		"chat.postMessage":             {scopes: []string{"chat:write"}, do: (*Server).postMessage},
		"chat.update":                  {scopes: []string{"chat:write"}, takes: "channel ts text parse link_names file_ids blocks metadata", do: (*Server).update},
		"chat.delete":                  {scopes: []string{"chat:write"}, takes: "channel ts", do: (*Server).deleteMessage},
		"reactions.add":                {scopes: []string{"reactions:write"}, takes: "channel timestamp name", do: (*Server).addReaction},
		"reactions.remove":             {scopes: []string{"reactions:write"}, takes: "channel timestamp name", do: (*Server).removeReaction},
		"reactions.get":                {scopes: []string{"reactions:read"}, reads: true, takes: "channel timestamp full", do: (*Server).reactions},
		"assistant.threads.setStatus":  {scopes: []string{"chat:write", "assistant:write"}, do: (*Server).setStatus},
		"files.getUploadURLExternal":   {scopes: []string{"files:write"}, reads: true, do: (*Server).getUploadURL},
		"files.completeUploadExternal": {scopes: []string{"files:write"}, do: (*Server).complete, after: (*Server).share},
		"files.delete":                 {scopes: []string{"files:write"}, takes: "file", do: (*Server).deleteFile},
		"files.info":                   {scopes: []string{"files:read"}, reads: true, do: (*Server).fileInfo},
		"conversations.list":           {scopes: reads, reads: true, do: (*Server).list},
		"conversations.info":           {scopes: reads, reads: true, do: (*Server).info},
		"conversations.history":        {scopes: hears, reads: true, do: (*Server).history},
		"conversations.replies":        {scopes: hears, reads: true, do: (*Server).replies},
		"conversations.open":           {scopes: []string{"im:write", "mpim:write"}, do: (*Server).openDirect},
		"users.info":                   {scopes: []string{"users:read"}, reads: true, do: (*Server).userInfo},
		"users.list":                   {scopes: []string{"users:read"}, reads: true, do: (*Server).userList},
		"bots.info":                    {scopes: []string{"users:read"}, reads: true, do: (*Server).botInfo},
		"team.info":                    {scopes: []string{"team:read"}, reads: true, do: (*Server).teamInfo},
	}
}

func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	f := s.Take(name)
	if f.Unread {
		breaks(w)
		return
	}
	a, err := readArgs(r)
	if f.instead(w) {
		return
	}
	m, ok := methods()[name]
	if !ok {
		err = refusal("unknown_method")
	}
	answer, ok := s.answer(name, m, a, err)
	if f.After != nil {
		f.After()
	}
	if m.after != nil && ok {
		s.work.Go(func() { m.after(s, a, f) })
	}
	if f.Lost {
		breaks(w)
		return
	}
	w.Header().Set("X-Oauth-Scopes", s.grantedTo(a))
	writeJSON(w, answer)
}

// answer does what a call asks for, and says whether it was done. The answer shows
// the state of this moment.
func (s *Server) answer(name string, m method, a args, err error) (_ json.RawMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.may(name, m, a)
	}
	var answer object
	if err == nil {
		answer, err = m.do(s, a)
	}
	s.Changed()
	if err != nil {
		answer = object{"error": err.Error()}
	}
	answer["ok"] = err == nil
	if errors.Is(err, refusal("missing_scope")) {
		answer["needed"], answer["provided"] = strings.Join(m.scopes, ","), strings.Join(s.scopes, ",")
	}
	text, encodeErr := json.Marshal(answer)
	if encodeErr != nil {
		panic(fmt.Sprint("slacktest: ", encodeErr))
	}
	return text, err == nil
}

// may says whether the token and its scopes are enough.
func (s *Server) may(name string, m method, a args) error {
	want := s.BotToken
	if name == "apps.connections.open" {
		want = s.AppToken
	}
	switch {
	case a.token == "":
		return refusal("not_authed")
	case a.token != want && (a.token == s.AppToken || a.token == s.BotToken):
		return refusal("not_allowed_token_type")
	case a.token != want:
		return refusal("invalid_auth")
	case a.json && m.reads:
		return refusal("invalid_arguments")
	case a.get && !m.reads && name != "auth.test":
		return refusal("invalid_post_type")
	case len(m.scopes) > 0 && !slices.ContainsFunc(m.scopes, func(scope string) bool { return slices.Contains(s.scopes, scope) }):
		return refusal("missing_scope")
	case m.takes != "" && !a.only(strings.Fields(m.takes)):
		return refusal("invalid_arg_name")
	}
	return nil
}

// only says whether all arguments are among those.
func (a args) only(names []string) bool {
	for name := range a.values {
		if name != "token" && !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

func (s *Server) grantedTo(a args) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.token == s.AppToken {
		return "connections:write"
	}
	return strings.Join(s.scopes, ",")
}

func (s *Server) authTest(args) (object, error) {
	return object{
		"url": "https://loopback.slack.com/", "team": "Loopback", "user": s.users[0].name,
		"team_id": s.Team, "user_id": s.BotUser, "bot_id": s.BotID, "is_enterprise_install": false,
	}, nil
}

// args are the arguments of a call: strings of a form, values of JSON as JSON.
type args struct {
	token     string
	json, get bool
	values    map[string]string
}

func (a args) str(key string) string { return a.values[key] }

func (a args) yes(key string) bool { return a.values[key] == "1" || a.values[key] == "true" }

func readArgs(r *http.Request) (a args, err error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return a, refusal("request_timeout")
	}
	a.get = r.Method == http.MethodGet
	if err := a.decode(r, body); err != nil {
		return a, err
	}
	a.token = a.values["token"]
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		a.token = bearer
	}
	return a, nil
}

func (a *args) decode(r *http.Request, body []byte) error {
	a.values = map[string]string{}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case a.get:
		return a.form(r.URL.RawQuery)
	case len(body) == 0: // auth.test and apps.connections.open need none
		a.json = err == nil && kind == "application/json"
		return nil
	case err != nil:
		return refusal("missing_post_type")
	case kind == "application/x-www-form-urlencoded":
		return a.form(string(body))
	case kind == "application/json":
		a.json = true
		return a.object(body)
	}
	return refusal("invalid_post_type")
}

func (a *args) form(text string) error {
	form, err := url.ParseQuery(text)
	if err != nil {
		return refusal("invalid_form_data")
	}
	for key, values := range form {
		a.values[key] = values[0]
	}
	return nil
}

func (a *args) object(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return refusal("invalid_json")
	}
	for key, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		a.values[key] = text
	}
	delete(a.values, "token") // Slack takes a token in JSON by the header alone
	return nil
}

func writeJSON(w http.ResponseWriter, answer json.RawMessage) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(answer) // if the client has gone, nobody reads it
}
