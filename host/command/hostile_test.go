package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// hostile is what an assistant could hope that a terminal obeys: a colour, a
// new title, a line that overwrites the one before, text that runs backwards,
// a byte that is no character.
const hostile = "a\x1b[31m\x1b]0;owned\x07\rb\u202egpj.\u2066\u009b2J\xff"

// TestNothingHostileReachesTheTerminal runs every command that prints what
// came from a container over an installation full of it.
func TestNothingHostileReachesTheTerminal(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	config := filepath.Join(dir, "longshore.yaml")
	stage.Write(t, config, "channels: { web: { listen: \"127.0.0.1:0\" } }\nlimits: { free_disk: 1MB }\n"+
		"groups:\n  - { name: Family, folder: family, chat: \"web:family\" }\n")
	file := filepath.Join(dir, strings.ReplaceAll(hostile, "/", "_")+".txt")
	stage.Write(t, file, "bytes")
	if out, code := stage.Command(t, "send", file, "--group", "family", "--caption", hostile); code != terminal.ExitOK {
		t.Fatalf("send ended with %d: %s", code, out)
	}
	plant(t, filepath.Join(dir, "state", "ipc"))

	out, _ := stage.Command(t, "queue", "list", "--json")
	var items []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &items); err != nil || len(items) != 1 {
		t.Fatalf("%v in %q", err, out)
	}
	for _, args := range [][]string{
		{"queue", "list"}, {"queue", "show", items[0].ID}, {"queue", "show", hostile}, {"queue", "drop", hostile},
		{"errors", "list"}, {"errors", "show", "family-x"}, {"errors", "retry", hostile},
		{"status"}, {"doctor"},
		{"send", file, "--group", "family", "--dry-run", "--caption", hostile},
		{"send", file, "--group", hostile},
		{"send", "/workspace/group/" + hostile, "--group", "family", "--dry-run"},
		{"send", filepath.Join(dir, hostile), "--group", "family"},
		{"mcp-config", "--for", hostile},
		{"config", "validate", "--config", hostile},
		{hostile},
		{"status", "--" + hostile},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			out, _ := stage.Command(t, append(args, more...)...)
			if at := strings.IndexFunc(out, dangerous); at >= 0 {
				t.Errorf("%q printed %q", append(args, more...), out[at:min(len(out), at+20)])
			}
			if strings.ContainsRune(out, unicode.ReplacementChar) && more == nil {
				t.Logf("%q shows a byte that is no character as U+FFFD", args)
			}
		}
	}
	if out, _ := stage.Command(t, "errors", "show", "family-x"); !strings.Contains(out, "owned") {
		t.Errorf("the request is not shown at all: %q", out)
	}
}

// plant puts hostile text wherever a container, or who speaks to it, has a
// say. The names in the errors folder are the host's own.
func plant(t *testing.T, ipc string) {
	t.Helper()
	reason, err := json.Marshal(map[string]any{
		"folder": hostile, "request": hostile, "code": hostile, "message": hostile, "hint": hostile, "attempts": 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	stage.Write(t, filepath.Join(ipc, "errors", "family-x.json"), `{"text":"`+hostile+`"}`+"\n"+hostile)
	stage.Write(t, filepath.Join(ipc, "errors", "family-x.reason.json"), string(reason))
	stage.Write(t, filepath.Join(ipc, "errors", hostile+".json"), hostile)
	if err := os.Mkdir(filepath.Join(ipc, hostile), 0o755); err != nil {
		t.Fatal(err)
	}
}

// dangerous is what must not reach a terminal.
func dangerous(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
}

// TestEveryTextOfATableIsOneCell wants that a tab or a new line in a text
// cannot forge a row.
func TestEveryTextOfATableIsOneCell(t *testing.T) {
	var b bytes.Buffer
	e := &env{Terminal: terminal.Terminal{Stdout: &b}}
	table := e.Table("A", "B")
	table.Row("one\ttwo\nthree", "")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 2 || len(strings.Fields(lines[1])) > 2 {
		t.Errorf("got %q", lines)
	}
}

func TestJSONKeepsWhatItEscapes(t *testing.T) {
	var b bytes.Buffer
	e := &env{Terminal: terminal.Terminal{Stdout: &b}}
	text := "\x1b\u202e\u2066\U000e0041 <é> 漢"
	if err := e.PrintJSON(text); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != text {
		t.Errorf("%q came back as %q, %v", text, back, err)
	}
	if strings.ContainsFunc(b.String(), dangerous) {
		t.Errorf("raw in %q", b.String())
	}
	if !strings.Contains(b.String(), "é") {
		t.Errorf("too much is escaped: %s", fmt.Sprintf("%q", b.String()))
	}
}
