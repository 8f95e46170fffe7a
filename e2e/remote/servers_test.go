package remote

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/command/pairpage"
	"github.com/longshore-bridge/longshore/host/keys"
	"github.com/longshore-bridge/longshore/host/operator"
)

// server is one of the host's, as a client sees it.
type server struct {
	network, address string
	host             string // a name that it answers to
	method, path     string // of a call that takes a body
	credentials      string // header lines; empty: it wants none
}

// TestEveryServerOfTheHostKeepsItsBounds sends each the same misuse. The names are the packages that
// make the servers: a test of host compares them with the code.
func TestEveryServerOfTheHostKeepsItsBounds(t *testing.T) {
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			s.refuses(t, "another name", http.StatusMisdirectedRequest, s.ask(t, s.method, "Host: evil.example\r\n"+s.credentials, ""))
			s.refuses(t, "a page of another site", http.StatusForbidden, s.ask(t, s.method, "Host: "+s.host+"\r\nOrigin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n"+s.credentials, ""))
			wrong := s.ask(t, "PATCH", "Host: "+s.host+"\r\n"+s.credentials, "")
			if s.refuses(t, "another method", http.StatusMethodNotAllowed, wrong); wrong.Header.Get("Allow") == "" {
				t.Error("another method: it does not say which are allowed")
			}
			if s.credentials != "" {
				s.refuses(t, "no token", http.StatusUnauthorized, s.ask(t, s.method, "Host: "+s.host+"\r\n", ""))
				s.refuses(t, "a wrong token", http.StatusUnauthorized, s.ask(t, s.method, "Host: "+s.host+"\r\n"+strings.TrimSuffix(s.credentials, "\r\n")+"x\r\n", ""))
			}
			if res := s.ask(t, s.method, "Host: "+s.host+"\r\nX-Long: "+strings.Repeat("x", 64<<10)+"\r\n"+s.credentials, ""); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("a huge header: %s", res.Status)
			}
			if s.method != http.MethodPost {
				return
			}
			res := s.ask(t, s.method, "Host: "+s.host+"\r\nContent-Type: application/json\r\n"+s.credentials, strings.Repeat(" ", 33<<20))
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("a huge body: %s", res.Status)
			}
		})
	}
}

// ask sends one request and reads the answer, also if the server does not read all of it.
func (s server) ask(t *testing.T, method, header, body string) *http.Response {
	t.Helper()
	c, err := net.Dial(s.network, s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent := make(chan struct{})
	defer func() { c.Close(); <-sent }()
	go func() {
		defer close(sent)
		if body != "" {
			header += fmt.Sprintf("Content-Length: %d\r\n", len(body))
		}
		_, _ = io.WriteString(c, method+" "+s.path+" HTTP/1.1\r\n"+header+"\r\n"+body)
	}()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s %.40q: %v", method, header, err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body = io.NopCloser(strings.NewReader(string(text)))
	return res
}

// refuses checks a refusal: its status, and that it is an object with an error.
func (s server) refuses(t *testing.T, what string, status int, res *http.Response) {
	t.Helper()
	text, _ := io.ReadAll(res.Body)
	var answer struct{ Error struct{ Message string } }
	if err := json.Unmarshal(text, &answer); res.StatusCode != status || err != nil || answer.Error.Message == "" {
		t.Errorf("%s: %s %s, want %d and an error", what, res.Status, text, status)
	}
}

// servers starts each server of the host.
func servers(t *testing.T) map[string]server {
	const chat, token = 7, "a token of the page"
	dir := t.TempDir()
	bot := telegramtest.New(t, chat)
	for name, secret := range map[string]string{"bot": telegramtest.Token, "page": token, "push": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]string{}
	for _, name := range []string{"web", "push", "hook", "remote", "console", "metrics", "pair"} {
		at[name] = stage.FreeAddress(t)
	}
	cfg := stage.ConfigIn(t, filepath.Join(dir, "longshore.yaml"), fmt.Sprintf(`
state: ./state
channels:
  web: {listen: %q, token_file: page}
  push: {listen: %q, url: "http://127.0.0.1:1/", secret_file: push}
  telegram: {token_file: bot, server: %q, webhook: "https://bot.example/hook", listen: %q}
remote: {listen: %q}
operator_page: {listen: %q}
metrics: {listen: %q}
assistants:
  echo: {agent: command, command: [cat]}
groups:
  - {name: Family, folder: family, chat: "web:family", assistant: echo}
  - {name: Dock, folder: dock, chat: "tg:%d", assistant: echo}
`, at["web"], at["push"], bot.URL, at["hook"], at["remote"], at["console"], at["metrics"], chat))
	h := stage.StartHost(t, cfg, nil)
	var secret string
	stage.Eventually(t, "the webhook is set", func() bool { _, secret = bot.Hook(); return secret != "" })
	made, err := h.Local(true).MakeToken(t.Context(), operator.TokenOrder{Group: "family"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := pairpage.Open(channel.Account{Pair: "link", Scan: "scan"}, at["pair"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pair.Close)
	code, err := url.Parse(pair.URL + "code")
	if err != nil {
		t.Fatal(err)
	}
	model, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := keys.Serve(model, keys.New("family", access{}, nil, stage.NewLog(io.Discard, cfg.Log)).Guard("the pass of this session"))
	t.Cleanup(proxy.Close)
	all := map[string]server{
		"host/channel/web":           {address: at["web"], method: "POST", path: "/api/chats/family/messages", credentials: withToken(token)},
		"host/channel/push":          {address: at["push"], method: "POST", path: "/"},
		"host/channel/telegram":      {address: at["hook"], method: "POST", path: "/hook", credentials: "X-Telegram-Bot-Api-Secret-Token: " + secret + "\r\n"},
		"host/remote":                {address: at["remote"], method: "POST", path: "/api/requests", credentials: withToken(made.Secret)},
		"host/console":               {address: at["console"], method: "POST", path: "/v1/show", credentials: withToken(signedIn(t, h.SignIn()))},
		"host/operator, the metrics": {address: at["metrics"], method: "GET", path: "/healthz"},
		"host/operator":              {network: "unix", address: filepath.Join(cfg.State.Directory, "longshore.sock"), host: "longshore", method: "POST", path: "/v1/show"},
		"host/command/pairpage":      {address: at["pair"], method: "GET", path: code.Path},
		"host/keys":                  {address: model.Addr().String(), method: "POST", path: "/anthropic/v1/messages", credentials: "X-Api-Key: the pass of this session\r\n"},
	}
	for name, s := range all {
		if s.network == "" {
			s.network, s.host = "tcp", s.address
		}
		all[name] = s
	}
	return all
}

func withToken(token string) string { return "Authorization: Bearer " + token + "\r\n" }

// signedIn is the key of a session of the operator's page.
func signedIn(t *testing.T, address string) string {
	page, token, _ := strings.Cut(address, "#")
	res, err := http.Post(page+"sign-in", "text/plain", strings.NewReader(token))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var session struct{ Key string }
	if err := json.NewDecoder(res.Body).Decode(&session); err != nil || session.Key == "" {
		t.Fatal(res.Status, err)
	}
	return session.Key
}

// access has a key of one service.
type access struct{}

func (access) ModelAccess(string) keys.Settings {
	u, _ := url.Parse("http://127.0.0.1:1")
	return keys.Settings{Upstreams: []keys.Upstream{{Provider: keys.Known()[0], URL: u, Secret: "the operator's key"}}}
}
