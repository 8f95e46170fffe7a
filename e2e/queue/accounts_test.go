package queue

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/channel/web"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestTwoAccountsOfOnePlatform: two pages on two ports, each with its own
// chats and its own store.
func TestTwoAccountsOfOnePlatform(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := `limits: {free_disk: 0}
channels:
  web: {listen: "127.0.0.1:0"}
  web-team: {type: web, listen: "127.0.0.1:0"}
groups:
- {folder: family, chat: "web:family", channel: web, main: true}
- {folder: team, chat: "web:team", channel: web-team}
`
	cfg := stage.ConfigIn(t, file, text)
	report := filepath.Join(filepath.Dir(file), "report.txt")
	if err := os.WriteFile(report, []byte("the report"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := stage.StartHost(t, cfg, nil)
	desk := h.Local(true)
	for i, want := range []struct{ name, chat string }{{"web", "family"}, {"web-team", "team"}} {
		if got := h.Channels[i].Name(); got != want.name {
			t.Errorf("channel %d is %s", i, got)
		}
		item, err := desk.Send(t.Context(), operator.Send{Group: want.chat, Path: report})
		if err != nil {
			t.Fatal(err)
		}
		if item.Channel != want.name {
			t.Errorf("the delivery to %s goes to %q", want.chat, item.Channel)
		}
		base := strings.TrimRight(channel.Current(h.Channels[i]).(*web.Web).URL(), "/")
		other := strings.TrimRight(channel.Current(h.Channels[1-i]).(*web.Web).URL(), "/")
		if code := status(t, base+"/c/"+want.chat); code != http.StatusOK {
			t.Errorf("the page %s answers %d", want.chat, code)
		}
		if code := status(t, other+"/c/"+want.chat); code != http.StatusNotFound {
			t.Errorf("the page %s shows %s: %d", other, want.chat, code)
		}
	}
	groups, err := desk.Status(t.Context())
	if err != nil || groups.Groups[0].Channel != "web" || groups.Groups[1].Channel != "web-team" {
		t.Errorf("%+v, %v", groups.Groups, err)
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestTwoAccountsKnowAChatByTheSameName: both pages have a chat family, and
// each belongs to another group. What the groups send stays apart; the main
// group has to say which of the two it means.
func TestTwoAccountsKnowAChatByTheSameName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := `limits: {free_disk: 0}
assistants: {echo: {agent: command, command: [cat]}}
channels:
  web: {listen: "127.0.0.1:0"}
  web-team: {type: web, listen: "127.0.0.1:0"}
groups:
- {folder: home, chat: "web:family", channel: web, assistant: echo, gather: {after: 0s}}
- {folder: work, chat: "web:family", channel: web-team, assistant: echo, gather: {after: 0s}}
- {folder: ops, chat: "web:ops", channel: web, main: true}
`
	cfg := stage.ConfigIn(t, file, text)
	var said bytes.Buffer
	if code := longshore.Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", file, "config", "validate"}, strings.NewReader(""), &said, &said); code != stage.ExitOK {
		t.Fatalf("config validate: %d, %s", code, said.String())
	}
	h := stage.StartHost(t, cfg, nil)
	ctx := stage.Soon(t)
	pages := []string{}
	for _, c := range h.Channels {
		pages = append(pages, strings.TrimRight(channel.Current(c).(*web.Web).URL(), "/")+"/api/chats/family/messages")
	}
	for i, folder := range []string{"home", "work"} {
		client := ipc.NewClient(h.Layout.IPC(folder, ""))
		id, err := client.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Chat: "web:family", Text: "from " + folder})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := client.Wait(ctx, id, nil); err != nil || r.Status != ipc.Sent || r.Channel != h.Channels[i].Name() {
			t.Errorf("%s: %+v, %v", folder, r, err)
		}
		resp, err := http.Post(pages[i], "application/json", strings.NewReader(`{"text": "to `+folder+`", "from": "Ann"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Errorf("the page takes a message for %s with %s", folder, resp.Status)
		}
	}
	main := ipc.NewClient(h.Layout.IPC("ops", ""))
	for _, tt := range []struct {
		chat   string
		status ipc.Status
		code   string
	}{{"web:family", ipc.Refused, "chat_ambiguous"}, {"web-team/web:family", ipc.Sent, ""}} {
		id, err := main.Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Chat: tt.chat, Text: "from main"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := main.Wait(ctx, id, nil); err != nil || r.Status != tt.status || r.Code != tt.code {
			t.Errorf("main sends to %s: %+v, %v", tt.chat, r, err)
		}
	}
	c, err := main.Context()
	if err != nil || len(c.Chats) != 3 || c.Chats[1].Chat != "web-team/web:family" || c.Chats[1].Channel != "web-team" || c.Chats[2].Chat != "web:ops" {
		t.Errorf("chat_info lists %+v, %v", c.Chats, err)
	}
	// The assistant's answer holds what its member wrote, and the page its own messages.
	for i, words := range [][2][]string{
		{{"from home", "to home"}, {"from work", "to work", "from main"}},
		{{"from work", "to work", "from main"}, {"from home", "to home"}},
	} {
		shown := ""
		stage.Await(t, "the assistant answers on the page", func() bool {
			shown = stage.Fetch(t, pages[i])
			return strings.Count(shown, words[0][1]) >= 2
		})
		for _, word := range words[0] {
			if !strings.Contains(shown, word) {
				t.Errorf("the page of %s lacks %q: %s", h.Channels[i].Name(), word, shown)
			}
		}
		for _, word := range words[1] {
			if strings.Contains(shown, word) {
				t.Errorf("the page of %s shows %q", h.Channels[i].Name(), word)
			}
		}
	}
	// Commands ask which of the two is meant.
	said.Reset()
	if code := longshore.Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", file, "send", "--group", "web:family", file}, strings.NewReader(""), &said, &said); code != stage.ExitUsage || !strings.Contains(said.String(), "one of home, work") {
		t.Errorf("send: %d, %s", code, said.String())
	}
}

// TestSameIDsOfTwoAccountsDoNotMix: platforms count their messages, so that two
// accounts have the same ids in chats with the same name.
func TestSameIDsOfTwoAccountsDoNotMix(t *testing.T) {
	const family = groups.JID("mem:family")
	cfg := stage.ConfigIn(t, filepath.Join(t.TempDir(), "longshore.yaml"), `limits: {free_disk: 0}
assistants: {echo: {agent: command, command: [cat]}}
groups:
- {folder: home, chat: "mem:home", assistant: echo, gather: {after: 0s}}
- {folder: work, chat: "mem:work", assistant: echo, gather: {after: 0s}}
`)
	var accounts [2]*memory.Channel
	var all []channel.Channel
	for i, name := range []string{"mem-home", "mem-work"} {
		cfg.Groups[i].Channel, cfg.Groups[i].Chat = name, family
		accounts[i] = memory.New(memory.Options{Name: name})
		all = append(all, memory.Full{Finding: memory.Finding{Channel: accounts[i]}})
	}
	h := stage.StartHost(t, cfg, all)
	ctx := stage.Soon(t)
	var results [2]ipc.Result
	var clients [2]*ipc.Client
	for i, g := range cfg.Groups {
		clients[i] = ipc.NewClient(h.Layout.IPC(g.Folder, ""))
		id, err := clients[i].Enqueue(ctx, ipc.Request{Type: ipc.TypeMessage, Text: "from " + g.Folder})
		if err != nil {
			t.Fatal(err)
		}
		if results[i], err = clients[i].Wait(ctx, id, nil); err != nil || results[i].Status != ipc.Sent {
			t.Fatalf("%s: %+v, %v", g.Folder, results[i], err)
		}
	}
	if results[0].MessageID != results[1].MessageID {
		t.Fatalf("the ids are %q and %q", results[0].MessageID, results[1].MessageID)
	}
	if err := accounts[0].Report(ctx, family, results[0].MessageID, channel.StateRead); err != nil {
		t.Fatal(err)
	}
	stage.Await(t, "the result says that a member read it", func() bool {
		r, err := clients[0].Status(results[0].ID)
		return err == nil && r.Status == ipc.Read
	})
	if r, err := clients[1].Status(results[1].ID); err != nil || r.Status != ipc.Sent {
		t.Errorf("after a member of home read the one message, the other is %s, %v", r.Status, err)
	}

	if err := accounts[1].Say(ctx, channel.Inbound{ID: "1", Chat: family, Text: "to work"}); err != nil {
		t.Fatal(err)
	}
	if seen, err := accounts[1].WaitShown(ctx, family, 2); err != nil || !strings.Contains(seen[1].Text, "to work") {
		t.Errorf("work sees %v, %v", seen, err)
	}
	if seen := accounts[0].Shown(family); len(seen) != 1 || accounts[0].Typists(family) != 0 || accounts[1].Typists(family) == 0 {
		t.Errorf("home sees %v, and %d times that somebody writes; work %d times", seen, accounts[0].Typists(family), accounts[1].Typists(family))
	}
	if err := accounts[0].Say(ctx, channel.Inbound{ID: "1", Chat: family, Text: "to home"}); err != nil {
		t.Fatal(err)
	}
	if seen, err := accounts[0].WaitShown(ctx, family, 2); err != nil || !strings.Contains(seen[1].Text, "to home") {
		t.Errorf("home sees %v, %v", seen, err)
	}
}

// TestAnErrorNamesTheAccount: of two pages, the one whose address somebody
// else has.
func TestAnErrorNamesTheAccount(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	cfg := stage.ConfigIn(t, filepath.Join(t.TempDir(), "longshore.yaml"), `limits: {free_disk: 0}
channels:
  web: {listen: "127.0.0.1:0"}
  web-team: {type: web, listen: "`+taken.Listener.Addr().String()+`"}
`)
	var log bytes.Buffer
	h, err := serve.New(t.Context(), cfg, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if said := log.String(); !strings.Contains(said, "channel=web-team") || !strings.Contains(said, "address already in use") || strings.Contains(said, "channel=web ") {
		t.Errorf("the second page's address is taken: %s", said)
	}
}

// TestPairAsksWhichAccount: with several, none is guessed.
func TestPairAsksWhichAccount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := "channels: {whatsapp: , office: {type: whatsapp}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"pair", "unpair"} {
		var b bytes.Buffer
		code := longshore.Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", file, command, "whatsapp"}, strings.NewReader(""), &b, &b)
		if code != stage.ExitUsage || !strings.Contains(b.String(), "name one of them: whatsapp, office") {
			t.Errorf("%s: %d, %s", command, code, b.String())
		}
	}
}
