package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestTheMainGroupRegistersAChatThatTheOperatorAllowed does it live: the page shows the
// chat, a member writes there, and the assistant answers. The state has the group, so a call that
// is made again changes nothing; the file is as the operator wrote it.
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
	if err != nil || string(text) != strings.ReplaceAll(stage.Registering, "%LISTEN%", h.Listen) {
		t.Errorf("%v; longshore.yaml:\n%s", err, text)
	}
	if shown, code := stage.Command(t, "-c", h.File, "config", "show"); code != terminal.ExitOK || strings.Count(shown, "chat: web:dock\n") != 1 || !strings.Contains(shown, "registered_by: main") {
		t.Errorf("config show ends with %d:\n%s", code, shown)
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
	serves := func(folder string) bool {
		s, err := h.Client.Status(t.Context())
		return err == nil && slices.ContainsFunc(s.Groups, func(g operator.Group) bool { return g.Folder == folder })
	}
	if !serves("dock") || !serves("boat") {
		t.Error("status does not show them")
	}
	if got := stage.AskHost(t, h.Layout, "main", ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:boat-2", Name: "Boat 2"}); got.Code != "not_registered" || !strings.Contains(got.Message, "4 groups") {
		t.Errorf("one more than the operator allows: %+v", got)
	}
	h.Write(stage.Registering + "  except: [\"web:boat-*\"]\n")
	if r, err := h.Client.Reload(t.Context(), false); err != nil || len(r.Problems) > 0 || !serves("dock") || serves("boat") {
		t.Errorf("without the boats: %+v, %v", r, err)
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

// TestAGroupThatCannotBeTakenUpIsNotKept: what else the file has now cannot be taken
// up by a running host, so the group is not registered.
func TestAGroupThatCannotBeTakenUpIsNotKept(t *testing.T) {
	h := stage.NewChanging(t, stage.Registering)
	later := stage.Registering + "log: {level: debug}\n"
	h.Write(later)
	got := stage.AskHost(t, h.Layout, "main", ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:dock", Name: "Dock"})
	if got.Code != "not_registered" || !strings.Contains(got.Hint, "operator") {
		t.Errorf("%+v", got)
	}
	if shown, _ := stage.Command(t, "-c", h.File, "config", "show"); strings.Contains(shown, "folder: dock") {
		t.Errorf("the next start would have it:\n%s", shown)
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
	shown := ""
	h.Until("the group is there", func() bool {
		shown, _ = stage.Command(t, "-c", h.File, "config", "show")
		return strings.Contains(shown, "folder: web_dock")
	})
	if strings.Contains(shown, "trigger: '@Andy'") || strings.Contains(shown, "trigger: \"@Andy\"") {
		t.Errorf("the group has a trigger:\n%s", shown)
	}
	h.Until("the page has the chat", func() bool { return strings.Contains(string(h.Get("/api/chats")), "dock") })
}
