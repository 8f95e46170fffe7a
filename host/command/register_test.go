package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestTheMainGroupRegistersAChatThatTheOperatorAllowed does it live: the page shows the
// chat, a member writes there, and the assistant answers. The file has the group, so a
// call that is made again changes nothing.
func TestTheMainGroupRegistersAChatThatTheOperatorAllowed(t *testing.T) {
	h := stage.NewChanging(t, stage.Registering)
	dock := ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:dock", Name: "Dock: \"west\"", NewFolder: "dock", Trigger: "@Andy"}
	for range 2 {
		got := stage.AskHost(t, h.Layout, "main", dock)
		var answer struct{ Folder, Words string }
		if err := json.Unmarshal(got.Data, &answer); err != nil || got.Status != ipc.Done || answer.Folder != "dock" || !strings.Contains(answer.Words, "@Andy") {
			t.Fatalf("%+v, %s, %v", got, got.Data, err)
		}
	}
	text, err := os.ReadFile(h.File)
	if err != nil || strings.Count(string(text), "web:dock\"\n") != 1 || !strings.Contains(string(text), "# the family's own") {
		t.Errorf("%v; longshore.yaml:\n%s", err, text)
	}
	h.Say("dock", "@Andy hello")
	h.Until("the new group's assistant answers", func() bool {
		return strings.Contains(strings.Join(h.Texts("dock"), "\n"), "hello")
	})
	var told struct{ Can []string }
	b, err := os.ReadFile(filepath.Join(h.Layout.IPC("main", "context"), "context.json"))
	if err == nil {
		err = json.Unmarshal(b, &told)
	}
	if err != nil || !strings.Contains(strings.Join(told.Can, " "), "register") {
		t.Errorf("main is told that it can %v, %v", told.Can, err)
	}
	if got := stage.AskHost(t, h.Layout, "main", ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:boat-1", Name: "Boat"}); got.Status != ipc.Done {
		t.Errorf("without a folder and a trigger: %+v", got)
	}
	if got := stage.AskHost(t, h.Layout, "main", ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:boat-2", Name: "Boat 2"}); got.Code != "not_registered" || !strings.Contains(got.Message, "4 groups") {
		t.Errorf("one more than the operator allows: %+v", got)
	}
}

// TestRegisteringIsRefusedWithItsReason leaves the file as it was each time.
func TestRegisteringIsRefusedWithItsReason(t *testing.T) {
	h := stage.NewChanging(t, stage.Registering)
	before, err := os.ReadFile(h.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(h.Layout.Workspace("boat-9"), 0o700); err != nil { // of a group that is gone
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, jid, name, folder, trigger, code, words string }{
		{"family", "web:dock", "Dock", "dock", "", "not_allowed", "only the main group"},
		{"main", "web:harbour", "Harbour", "harbour", "", groups.CodeChatNotAllowed, "does not let"},
		{"main", "web:main", "Main", "main", "", groups.CodeChatNotAllowed, "does not let"},
		{"main", "web:", "Dock", "dock", "", "bad_jid", ""},
		{"main", "web:dock", "Dock", "../dock", "", "not_registered", "no name of a group"},
		{"main", "web:dock", "Dock", "errors", "", "not_registered", "reserved"},
		{"main", "web:dock", "Dock", "FAMILY", "", "not_registered", "folder family"},
		{"main", "web:dock", "\u200b", "", "", "not_registered", "cannot be printed"},
		{"main", "web:dock", "Dock", "boat-9", "", "not_registered", "former group"},
		{"main", "web:boat-A", "Dock", "dock", "", "bad_jid", ""},
		{"main", "web:dock", strings.Repeat("x", 101), "dock", "", "not_registered", "100 characters"},
		{"main", "web:dock", "Dock", "dock", strings.Repeat("y", 101), "not_registered", ""},
	} {
		got := stage.AskHost(t, h.Layout, tt.from, ipc.Request{Type: ipc.TypeRegisterGroup, JID: tt.jid, Name: tt.name, NewFolder: tt.folder, Trigger: tt.trigger})
		if got.Code != tt.code || !strings.Contains(got.Message, tt.words) || got.Hint == "" || strings.Contains(got.Message+got.Hint, filepath.Dir(h.File)) {
			t.Errorf("%s registers %s as %s: %+v", tt.from, tt.jid, tt.folder, got)
		}
	}
	if after, err := os.ReadFile(h.File); err != nil || string(after) != string(before) {
		t.Errorf("%v; longshore.yaml is now:\n%s", err, after)
	}
}

// TestAGroupThatCannotBeTakenUpIsNotInTheFile: what else the file has now cannot be taken
// up by a running host, so the group is not registered, and the file is as the operator
// left it.
func TestAGroupThatCannotBeTakenUpIsNotInTheFile(t *testing.T) {
	h := stage.NewChanging(t, stage.Registering)
	later := stage.Registering + "log: {level: debug}\n"
	h.Write(later)
	got := stage.AskHost(t, h.Layout, "main", ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:dock", Name: "Dock"})
	if got.Code != "not_registered" || !strings.Contains(got.Hint, "operator") {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(h.File); err != nil || string(text) != strings.ReplaceAll(later, "%LISTEN%", h.Listen) {
		t.Errorf("%v; longshore.yaml is now:\n%s", err, text)
	}
}

// TestAV1RequestWithoutATriggerMakesEveryMessageCall is NanoClaw v1's requiresTrigger.
func TestAV1RequestWithoutATriggerMakesEveryMessageCall(t *testing.T) {
	h := stage.NewChanging(t, stage.Registering)
	dir := h.Layout.IPC("main", "messages")
	const body = `{"type":"register_group","jid":"web:dock","name":"Dock","folder":"web_dock","trigger":"@Andy","requiresTrigger":false,"timestamp":"2026-02-20T00:00:00.000Z"}`
	if err := os.WriteFile(filepath.Join(dir, ".1771600000000-ab12.tmp"), []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, ".1771600000000-ab12.tmp"), filepath.Join(dir, "1771600000000-ab12.json")); err != nil {
		t.Fatal(err)
	}
	h.Until("the group is there", func() bool {
		text, err := os.ReadFile(h.File)
		return err == nil && strings.Contains(string(text), "web_dock")
	})
	if text, _ := os.ReadFile(h.File); strings.Contains(string(text), "trigger") {
		t.Errorf("longshore.yaml has a trigger:\n%s", text)
	}
	h.Until("the page has the chat", func() bool { return strings.Contains(string(h.Get("/api/chats")), "dock") })
}

// Taking a group out again wrote over what the operator had saved in the meantime.
func TestTakingAGroupOutAgainKeepsWhatTheOperatorWrote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := strings.ReplaceAll(stage.Registering, "%LISTEN%", "127.0.0.1:0")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want string) {
		t.Helper()
		if now, err := os.ReadFile(file); err != nil || string(now) != want {
			t.Errorf("%v; longshore.yaml is now:\n%s", err, now)
		}
	}
	e := &env{Terminal: terminal.Terminal{Config: file}, platforms: stage.AllPlatforms(), getenv: os.Getenv}
	dock := groups.Group{Name: "Dock", Folder: "dock", Chat: "web:dock"}
	write(text)
	undo, problems, err := e.writeGroup(dock)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	has(text)
	if undo, _, err = e.writeGroup(dock); err != nil {
		t.Fatal(err)
	}
	write(text + "name: Ada\n")
	if err := undo(); err == nil {
		t.Error("the operator's change was overwritten without a word")
	}
	has(text + "name: Ada\n")
}
