package kill

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/ipc"
)

// The operator reads what the host and an assistant wrote about a group, and goes on
// reading over a restart of the host. What the assistant wrote acts on no terminal.
func TestTheLogsOfTheHostAndOfAnAssistantAreFollowed(t *testing.T) {
	s := newSoak(t, 1, false)
	log := filepath.Join(s.cfg.Layout().Logs(), "g0", "assistant.log")
	write := func(flags int, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|flags, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(0, strings.Repeat("old\n", 200_000)+"hello \x1b[31mred\npart")
	if _, errs, code := stage.RunLine(t, s.file(), "logs"); code == stage.ExitOK || !strings.Contains(errs, "no host is running") || !strings.Contains(errs, "journalctl") {
		t.Errorf("without a host: %q, %d", errs, code)
	}
	if out, errs, code := stage.RunLine(t, s.file(), "logs", "g0", "-n", "2"); code != stage.ExitOK || strings.Contains(out, "\x1b") || !strings.HasPrefix(out, "g0 | old\ng0 | hello ") || strings.Contains(out, "part") {
		t.Errorf("without a host, of a group: %.300q, %q, %d", out, errs, code)
	}
	s.start()
	t.Cleanup(s.end)
	refused := func(g *soakGroup) {
		t.Helper()
		id, err := s.client(g).Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/nothing"}}})
		if err != nil {
			t.Fatal(err)
		}
		g.asked = append(g.asked, soakAsk{id: id})
		s.allEnded(t, []*soakGroup{g})
	}
	refused(s.groups[0])
	refused(s.groups[1])
	out, errs, code := stage.RunLine(t, s.file(), "logs", "Logs-of-nobody")
	if code != stage.ExitUsage {
		t.Errorf("of no group: %q, %q, %d", out, errs, code)
	}
	var said lastLines
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- longshore.Run(ctx, "", stage.AllPlatforms(), []string{"-c", s.file(), "logs", "g0", "-f", "--json"}, strings.NewReader(""), &said, &said)
	}()
	stage.Await(t, "the first line", func() bool { return strings.Contains(said.String(), "file_missing") })
	write(os.O_APPEND, "ial\nlater\n")
	stage.Await(t, "what the assistant wrote", func() bool { return strings.Contains(said.String(), `"message":"later"`) })
	s.kill()
	refused(s.groups[0])
	stage.Await(t, "the next host's line", func() bool { return strings.Count(said.String(), "file_missing") == 2 })
	write(os.O_TRUNC, "a new run\n")
	stage.Await(t, "the new run", func() bool { return strings.Contains(said.String(), "a new run") })
	cancel()
	if code := <-ended; code != stage.ExitOK {
		t.Errorf("it ended with %d", code)
	}
	partial := false
	for line := range strings.Lines(said.String()) {
		var l struct{ Group, Message string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			if !strings.Contains(line, "does not answer") {
				t.Errorf("%q: %v", line, err)
			}
			continue
		}
		partial = partial || l.Message == "partial"
		if l.Group != "g0" {
			t.Errorf("a line of another group: %+v", l)
		}
	}
	if !partial {
		t.Error("a line that was written in two parts is not whole")
	}
}
