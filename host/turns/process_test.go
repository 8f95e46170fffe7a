package turns_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestMain is also the assistant: the tests start this binary as one that does
// what its messages say.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "play" {
		play()
		return
	}
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

func play() {
	var input struct{ Prompt string }
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		os.Exit(9)
	}
	dir := filepath.Join(os.Getenv("LONGSHORE_IPC"), "input")
	tick := time.NewTicker(5 * time.Millisecond)
	for text := input.Prompt; ; {
		obey(text)
		for text = ""; text == ""; <-tick.C {
			if _, err := os.Stat(filepath.Join(dir, "_close")); err == nil {
				return
			}
			names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
			for _, name := range names {
				data, _ := os.ReadFile(name)
				os.Remove(name)
				var message struct{ Text string }
				json.Unmarshal(data, &message)
				text += message.Text
			}
		}
	}
}

func obey(text string) {
	has := func(word string) bool { return strings.Contains(text, word) }
	switch {
	case has("crash"):
		os.Exit(3)
	case has("hang"):
		<-time.After(time.Hour) // an empty select would be told a deadlock where cgo is off
	case has("flood"):
		noise := []byte(strings.Repeat("\x1b[2Jnoise ", 1000))
		for range 1000 {
			os.Stdout.Write(noise)
			os.Stderr.Write(noise)
		}
		fmt.Println()
	case has("garbage"):
		fmt.Print("---NANOCLAW_OUTPUT_START---\n{oops\n---NANOCLAW_OUTPUT_END---\n---NANOCLAW_OUTPUT_END---\n---NANOCLAW_OUTPUT_START---\n")
	}
	answer, _ := json.Marshal(map[string]any{"status": "success", "result": fmt.Sprintf("pid %d heard %d", os.Getpid(), strings.Count(text, "<message "))})
	fmt.Printf("---NANOCLAW_OUTPUT_START---\n%s\n---NANOCLAW_OUTPUT_END---\n", answer)
}

// newProcessWorld plays with real child processes.
func newProcessWorld(t *testing.T, change func(*options), gs ...groups.Group) *world {
	return newWorld(t, func(o *options) {
		o.Runtime = runtime.Process{Command: []string{os.Args[0], "play"}, Grace: 100 * time.Millisecond}
		o.Backoff = 10 * time.Millisecond
		if change != nil {
			change(o)
		}
	}, gs...)
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

func (w *world) untilTexts(n int) []string {
	w.t.Helper()
	until(w.t, fmt.Sprintf("%d texts", n), func() bool { return len(w.texts()) >= n })
	return w.texts()
}

func TestRealChildAnswersAndIsReachedAgain(t *testing.T) {
	w := newProcessWorld(t, nil)
	end := w.run()
	for i, text := range []string{"hello", "garbage", "flood", "again"} {
		w.write("family", fmt.Sprint(i), text)
		w.untilTexts(i + 1)
	}
	texts := w.texts()
	if len(texts) != 4 || slices.ContainsFunc(texts, func(s string) bool { return s != texts[0] }) {
		t.Errorf("not one process that heard one message each time: %q", texts)
	}
	end()
	var pid int
	if _, err := fmt.Sscanf(texts[0], "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the child outlived its host's end")
	}
}

func TestRealChildCrashes(t *testing.T) {
	w := newProcessWorld(t, nil)
	w.run()
	w.write("family", "1", "crash")
	if got := w.untilTexts(2); !slices.Equal(got, []string{tryingAgain, gaveUp}) {
		t.Errorf("said %q", got)
	}
	until(t, "the messages to be cleared away", func() bool { return w.kept("family") == 0 })
	w.write("family", "2", "hello")
	if got := w.untilTexts(3); !strings.HasSuffix(got[2], "heard 1") {
		t.Errorf("said %q", got)
	}
}

func TestRealChildHangs(t *testing.T) {
	w := newProcessWorld(t, func(o *options) { o.TurnTimeout = 300 * time.Millisecond })
	w.run()
	w.write("family", "1", "hang")
	if got := w.untilTexts(1); !slices.Equal(got, []string{tookTooLong}) {
		t.Errorf("said %q", got)
	}
}

func TestRealChildrenOfManyGroups(t *testing.T) {
	var gs []groups.Group
	for i := range 8 {
		gs = append(gs, group(fmt.Sprintf("g%d", i)))
	}
	w := newProcessWorld(t, func(o *options) { o.Limits.AtOnce = 3 }, gs...)
	w.run()
	for _, g := range gs {
		w.write(g.Folder, "1", "hello")
	}
	most := 0
	until(t, "an answer in each group", func() bool {
		running := 0
		for _, s := range w.m.Status() {
			if s.State == "running" || s.State == "resting" {
				running++
			}
		}
		most = max(most, running)
		return len(w.texts()) == len(gs)
	})
	if most > 3 || most == 0 {
		t.Errorf("%d ran at once", most)
	}
}
