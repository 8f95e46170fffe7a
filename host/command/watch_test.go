package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
)

func TestEveryListCanBeWatched(t *testing.T) {
	found := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("watch") != nil {
			found[cmd.CommandPath()] = true
		} else if cmd.Name() == "list" {
			t.Errorf("%s has no --watch", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&env{Terminal: terminal.Terminal{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}))
	for _, want := range []string{"status", "queue list", "errors list", "approvals list", "tasks list", "links list", "channels list", "tokens list", "groups list", "groups requests", "audit search"} {
		if !found["longshore "+want] {
			t.Errorf("%s has no --watch", want)
		}
	}
	if found["longshore service status"] {
		t.Error("service status is no list")
	}
}

// writes counts writes, so that a test can wait for them.
type writes struct {
	mu   sync.Mutex
	text bytes.Buffer
	told chan struct{}
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.told <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

// Programs read one document a line, and read on when the host was away.
func TestWatchPrintsADocumentALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, problems bytes.Buffer
		e := &env{Terminal: terminal.Terminal{Stdout: &out, Stderr: &problems, JSON: true}}
		ctx, interrupt := context.WithCancel(t.Context())
		n, start := 0, time.Now()
		w := &watcher{env: e, title: "longshore queue list", plain: &cobra.Command{RunE: func(*cobra.Command, []string) error {
			n++
			switch n {
			case 2:
				return operator.ErrNoHost
			case 4:
				interrupt()
			}
			return e.Answer([]operator.Item{{ID: "a", Message: "two\nlines \u202e"}}, func() error { return errors.New("printed for people") })
		}}}
		if err := w.watch(ctx, watchEvery); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 2 || time.Since(start) != 3*watchEvery {
			t.Fatalf("%d lines after %v: %q", len(lines), time.Since(start), lines)
		}
		for _, line := range lines {
			var items []operator.Item
			if err := json.Unmarshal([]byte(line), &items); err != nil || len(items) != 1 || items[0].Message != "two\nlines \u202e" {
				t.Errorf("%q: %v", line, err)
			}
		}
		if problems.String() != "longshore: no host is running\n" {
			t.Errorf("stderr has %q", problems.String())
		}
		if e.Stdout != &out || e.Watched != nil {
			t.Error("the next command would print into memory")
		}
	})
}

func TestWatchEndsWithTheFirstError(t *testing.T) {
	var out, problems bytes.Buffer
	e := &env{Terminal: terminal.Terminal{Stdout: &out, Stderr: &problems}}
	w := &watcher{env: e, plain: &cobra.Command{RunE: func(*cobra.Command, []string) error { e.Say("half"); return terminal.Usage("wrong", "right") }}}
	if err := w.watch(t.Context(), time.Hour); err == nil || out.Len() > 0 || problems.String() != "half\n" {
		t.Errorf("%v, %q, %q", err, out.String(), problems.String())
	}
}

// A real command: what it prints twice is what it prints once.
func TestWatchPrintsWhatTheListPrints(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "longshore.yaml")
	stage.Write(t, file, "state: "+dir+"/state\nchannels: {web: {listen: \"127.0.0.1:0\"}}\ngroups: [{name: Ops, folder: ops, chat: \"web:ops\"}]\n")
	once, _ := stage.Command(t, "-c", file, "groups", "list")
	ctx, interrupt := context.WithCancel(t.Context())
	out := &writes{told: make(chan struct{}, 10)}
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, "", stage.AllPlatforms(), []string{"-c", file, "groups", "list", "--watch"}, strings.NewReader(""), out, out)
	}()
	for range 2 {
		<-out.told
	}
	interrupt()
	if code := <-ended; code != terminal.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if got := out.text.String(); !strings.HasPrefix(got, once+"\n"+once) || !strings.Contains(once, "web:ops") {
		t.Errorf("%q, want %q twice", got, once)
	}
}

func TestAWatchedListFitsTheScreen(t *testing.T) {
	text := strings.Repeat("界", 100) + "\nshort\n\n" + strings.Repeat("a long remedy ", 20) + "\n" + strings.Repeat("line\n", 50)
	lines := terminal.Screenful("longshore \x1b[2Jstatus", text, 40, 24)
	if len(lines) != 24 || !strings.HasPrefix(lines[23], "and 43 more lines") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line) + strings.Count(line, "界"); n > 40 || strings.ContainsFunc(line, dangerous) {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if whole := strings.Join(terminal.Screenful("t", text, 40, 1000), ""); strings.Count(whole, "a long remedy") < 15 {
		t.Errorf("a remedy is cut: %q", whole)
	}
}

func TestChannelsOfAHostThatDoesNotRunAreNoEmptyList(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "longshore.yaml")
	stage.Write(t, file, "state: "+dir+"/state\nchannels: {web: {listen: \"127.0.0.1:0\"}}\ngroups: [{name: Ops, folder: ops, chat: \"web:ops\"}]\n")
	if out, code := stage.Command(t, "-c", file, "channels", "list"); code != terminal.ExitFault || !strings.Contains(out, "no host is running") {
		t.Errorf("%d, %q", code, out)
	}
	var b strings.Builder
	if err := (&env{Terminal: terminal.Terminal{Stdout: &b}}).listChannels([]operator.Channel{{Name: "web", Connected: true}, {Name: "w", Detail: "to\x1bdo"}}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "web      yes") || !strings.Contains(got, "w        no") || strings.ContainsFunc(got, dangerous) {
		t.Errorf("%q", got)
	}
}
