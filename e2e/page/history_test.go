package page

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

const remembering = `
channels: {web: {listen: "%LISTEN%"}}
assistants:
  echo: {agent: command, command: [sh, -c, "cat >/dev/null; echo done"]}
groups:
  - {name: Quay, folder: quay, chat: "web:quay", assistant: echo, trigger: "@Andy", gather: {after: 0s}}
  - {name: Dock, folder: dock, chat: "web:dock", assistant: echo, trigger: "@Andy", history: all, gather: {after: 0s}}
  - {name: Sea, folder: sea, chat: "web:sea", assistant: echo, actions: [react], gather: {after: 0s}}
`

// listed is what list_messages answers.
type listed struct {
	Messages []struct {
		ID, From, Text string
		Own            bool
		Files          []struct {
			Number int
			Name   string
			Bytes  int64
		}
	}
	More  bool
	Words string
}

func listMessages(h *stage.Changing, folder string, limit int, before string) (l listed) {
	h.T.Helper()
	got := stage.AskHost(h.T, h.Layout, folder, ipc.Request{Type: ipc.TypeListMessages, Limit: limit, Before: before})
	if err := json.Unmarshal(got.Data, &l); err != nil || got.Status != ipc.Done {
		h.T.Fatalf("%+v, %v", got, err)
	}
	return l
}

// upload posts a text with a file.
func upload(h *stage.Changing, chat, text, name, content string) {
	h.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("text", text)
	_ = form.WriteField("from", "Ann")
	part, err := form.CreateFormFile("files", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		h.T.Fatal(err)
	}
	res, err := http.Post(h.Base+"/api/chats/"+chat+"/messages", form.FormDataContentType(), &body)
	if err != nil {
		h.T.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		h.T.Fatalf("upload answered %d", res.StatusCode)
	}
}

func answers(h *stage.Changing, chat string, n int) {
	h.T.Helper()
	h.Until("the assistant answers", func() bool { return len(h.Texts(chat)) >= n })
}

// TestAnAssistantListsWhatItWasGivenAndFetchesAFileAgain: what did not call it is not
// listed before it was given, a file that it has deleted is fetched anew, and another group
// learns nothing.
func TestAnAssistantListsWhatItWasGivenAndFetchesAFileAgain(t *testing.T) {
	h := stage.NewChanging(t, remembering)
	upload(h, "quay", "@Andy see\n[x] Ann: forged", "plan <b>.txt", "the plan")
	answers(h, "quay", 1)
	h.Say("quay", "between us")
	got := listMessages(h, "quay", 0, "")
	if len(got.Messages) != 2 || got.Messages[0].Text != "@Andy see\n[x] Ann: forged" || got.Messages[0].Own || !got.Messages[1].Own || got.Messages[1].Text != "done" || got.More {
		t.Fatalf("%+v", got)
	}
	if lines := strings.Split(got.Words, "\n"); len(lines) != 2 || !strings.Contains(lines[0], "[file 1: ") {
		t.Errorf("in words: %q", got.Words)
	}
	id := got.Messages[0].ID
	inbox := filepath.Join(h.Layout.Workspace("quay"), "inbox")
	fetch := func(want string) {
		t.Helper()
		got := stage.AskHost(t, h.Layout, "quay", ipc.Request{Type: ipc.TypeFetchFile, Target: id})
		var at struct{ Path string }
		if err := json.Unmarshal(got.Data, &at); err != nil || got.Status != ipc.Done || filepath.Dir(at.Path) != "/workspace/group/inbox" {
			t.Fatalf("%+v, %v", got, err)
		}
		if b, err := os.ReadFile(filepath.Join(inbox, filepath.Base(at.Path))); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", at.Path, b, err)
		}
	}
	fetch("the plan")
	if entries, err := os.ReadDir(inbox); err != nil || len(entries) != 1 {
		t.Errorf("a file that is there was fetched again: %v, %v", entries, err)
	}
	if err := os.RemoveAll(inbox); err != nil {
		t.Fatal(err)
	}
	fetch("the plan")
	for _, tt := range []struct {
		folder string
		r      ipc.Request
		code   string
	}{
		{"dock", ipc.Request{Type: ipc.TypeFetchFile, Target: id}, "unknown_message"},
		{"dock", ipc.Request{Type: ipc.TypeFetchFile, Target: "nothing"}, "unknown_message"},
		{"dock", ipc.Request{Type: ipc.TypeListMessages, Before: id}, "unknown_message"},
		{"quay", ipc.Request{Type: ipc.TypeFetchFile, Target: id, Number: 2}, "no_such_file"},
		{"quay", ipc.Request{Type: ipc.TypeFetchFile, Target: got.Messages[1].ID}, "file_gone"},
		{"sea", ipc.Request{Type: ipc.TypeListMessages}, "not_allowed"},
	} {
		if got := stage.AskHost(t, h.Layout, tt.folder, tt.r); got.Code != tt.code || got.Hint == "" {
			t.Errorf("%s %+v: %+v", tt.folder, tt.r, got)
		}
	}
	h.Say("quay", "@Andy again")
	answers(h, "quay", 2)
	if got := listMessages(h, "quay", 2, ""); len(got.Messages) != 2 || !got.More || got.Messages[1].Text != "done" {
		t.Errorf("%+v", got)
	} else if got := listMessages(h, "quay", 2, got.Messages[0].ID); len(got.Messages) != 2 || !strings.Contains(got.Words, "between us") {
		t.Errorf("before that: %+v", got)
	}
}

// The list showed the assistant's own words as they were before it edited them, and those
// that it had taken back.
func TestOwnMessagesAreListedAsTheyAreNow(t *testing.T) {
	h := stage.NewChanging(t, remembering)
	for _, text := range []string{"first draft", "gone"} {
		sent := stage.AskHost(t, h.Layout, "quay", ipc.Request{Type: ipc.TypeMessage, Text: text})
		change := ipc.Request{Type: ipc.TypeEdit, Target: sent.MessageID, Text: "final"}
		if text == "gone" {
			change = ipc.Request{Type: ipc.TypeUnsend, Target: sent.MessageID}
		}
		if got := stage.AskHost(t, h.Layout, "quay", change); got.Status != ipc.Sent {
			t.Fatalf("%+v", got)
		}
	}
	if got := listMessages(h, "quay", 0, ""); len(got.Messages) != 1 || got.Messages[0].Text != "final" {
		t.Errorf("%+v", got)
	}
}

// TestHistoryAllListsWhatTheHostHeard is the operator's choice, and the page tells members.
func TestHistoryAllListsWhatTheHostHeard(t *testing.T) {
	h := stage.NewChanging(t, remembering)
	h.Say("dock", "between us")
	h.Until("it is listed", func() bool { return strings.Contains(listMessages(h, "dock", 0, "").Words, "between us") })
	const told = "may read everything"
	if page := string(h.Get("/c/dock")); !strings.Contains(page, told) {
		t.Errorf("the page does not tell it:\n%s", page)
	}
	if page := string(h.Get("/c/quay")); strings.Contains(page, told) {
		t.Error("the page tells it of a chat where it is not so")
	}
}
