package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

// Guest is a member at the page of a host.
type Guest struct {
	Member
	T testing.TB
}

// Posts writes a message with files, as the page does, and returns its id.
func (g Guest) Posts(text, answers string, files map[string]string) string {
	g.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"from": "Ann", "text": text, "replyTo": answers} {
		if err := form.WriteField(name, value); err != nil {
			g.T.Fatal(err)
		}
	}
	for name, content := range files {
		part, err := form.CreateFormFile("files", name)
		if err != nil {
			g.T.Fatal(err)
		}
		_, _ = part.Write([]byte(content)) // to memory
	}
	_ = form.Close()
	resp, err := http.Post(g.Messages(), form.FormDataContentType(), &body)
	if err != nil {
		g.T.Fatal(err)
	}
	defer resp.Body.Close()
	var posted struct{ Messages []history.Message }
	if err := json.NewDecoder(resp.Body).Decode(&posted); err != nil || len(posted.Messages) == 0 {
		g.T.Fatalf("post: %s, %v", resp.Status, err)
	}
	return posted.Messages[0].ID
}

// Sees returns what the assistant wrote after a message, once is says that it is
// there.
func (g Guest) Sees(after string, is func([]history.Message) bool) []history.Message {
	g.T.Helper()
	var answers []history.Message
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var page struct{ Messages []history.Message }
		if err := g.Call(g.T.Context(), http.MethodGet, g.Messages()+"?after="+after, nil, &page); err != nil {
			g.T.Fatal(err)
		}
		answers = nil
		for _, m := range page.Messages {
			if m.Assistant {
				answers = append(answers, m)
			}
		}
		if is(answers) {
			return answers
		}
		if time.Now().After(deadline) {
			g.T.Fatalf("the chat has %+v", answers)
		}
	}
}

// Scrape asks the host for its metrics.
func Scrape(state string) (string, error) { return Monitor(state, "/metrics") }

// Monitor asks the host as a monitor does.
func Monitor(state, path string) (string, error) {
	at := filepath.Join(state, "longshore.sock")
	if short, err := os.Readlink(at); err == nil { // the state's own path is too long for a socket
		at = short
	}
	socket := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", at)
	}}}
	res, err := socket.Get("http://longshore" + path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// Fetch returns what a URL answers with 200.
func Fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(body)
}

// ChatPage is a member at the chat page.
type ChatPage struct {
	T    testing.TB
	Base string
}

// said is a message of the page, by the names that docs/web.md gives.
type said struct {
	ID        string
	Assistant bool
	Text      string
	File      *struct{ Name, URL, SHA256 string }
}

// Get returns what the page answers to a path with 200.
func (p ChatPage) Get(path string) []byte {
	p.T.Helper()
	resp, err := http.Get(p.Base + path)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.T.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	return b
}

// Messages returns the newest 200 messages of a chat.
func (p ChatPage) Messages(chat string) []said {
	p.T.Helper()
	var got struct{ Messages []said }
	if err := json.Unmarshal(p.Get("/api/chats/"+chat+"/messages?limit=200"), &got); err != nil {
		p.T.Fatal(err)
	}
	return got.Messages
}

// Say posts a text as Ann.
func (p ChatPage) Say(chat, words string) {
	p.T.Helper()
	body, _ := json.Marshal(map[string]string{"from": "Ann", "text": words})
	resp, err := http.Post(p.Base+"/api/chats/"+chat+"/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		p.T.Fatalf("the page says %s", resp.Status)
	}
}
