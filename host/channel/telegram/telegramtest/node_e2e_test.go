//go:build e2e

package telegramtest

import (
	"embed"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The program, and the exact versions of all that it is made of.
//
//go:embed testdata
var programs embed.FS

// TestTwoClientsTakeThisForTelegram has clients that nobody here wrote call the API.
func TestTwoClientsTakeThisForTelegram(t *testing.T) {
	modules := npmtest.Modules(t, programs, "testdata/telegram-node")
	const chat = -1001
	s := New(t, chat)
	s.Tell("message", chat, map[string]any{"from": map[string]any{"id": 77}, "document": map[string]any{"file_id": s.Keep([]byte("hers")), "file_size": 4}})
	cmd := exec.Command("node", filepath.Join("testdata", "telegram-node", "clients.mjs"), modules, s.URL, Token, "-1001")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr(err))
	}
	var saw struct {
		Name, Content, Refused, Strict string
		Text, Sent                     int64
		Album                          int
	}
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if saw.Name != BotName || saw.Content != "hers" || !strings.Contains(saw.Refused, "chat not found") || saw.Album != 2 || !strings.Contains(saw.Strict, "nothing_like_this") {
		t.Errorf("the clients saw %+v", saw)
	}
	all := s.WaitFor(t, chat, 6)
	if len(all) != 6 {
		t.Fatalf("the chat has %+v", all)
	}
	if m := all[0]; m.ID != saw.Text || m.Thread != 7 || m.Text != "there" || m.Reaction != "👍" || m.Edits != 1 {
		t.Errorf("the text is %+v", m)
	}
	if m := all[1]; m.ReplyTo != saw.Text || m.Text != "the first" || m.Files[0].Name != "a.txt" || m.Files[0].Size != 5 || all[2].Files[0] != m.Files[0] {
		t.Errorf("the file is %+v, and again %+v", m, all[2])
	}
	if m := all[3]; len(m.Files) != 2 || m.Text != "both" || !m.Gone {
		t.Errorf("the album is %+v", m)
	}
	if m := all[4]; len(m.Choices) != 2 || !m.Closed {
		t.Errorf("the poll is %+v", m)
	}
	if m := all[5]; m.ID != saw.Sent || m.Files[0].Name != "c.bin" || m.Text != "by another" || !m.Gone {
		t.Errorf("the other client's file is %+v", m)
	}
}

func stderr(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}
