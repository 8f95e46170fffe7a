package runtime_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
)

func openLog(t *testing.T) (*runtime.Log, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "family")
	l, err := runtime.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, dir
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLogEscapesWhatWouldActOnATerminal(t *testing.T) {
	l, dir := openLog(t)
	const hostile = "plain äöü\n\x1b[2J\x07 \u202egnp.exe \xff\tend\n"
	for _, b := range []byte(hostile) { // every character is cut somewhere
		l.Write([]byte{b})
	}
	want := "plain äöü\n" + `\x1b[2J\a \u202egnp.exe \xff` + "\tend\n"
	if got := read(t, dir, "assistant.log"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAssistantCannotSpeakAsTheHostInItsLog has it write the host's lines, cut
// anywhere, behind a flood, across a rotation and after a host that died.
func TestAssistantCannotSpeakAsTheHostInItsLog(t *testing.T) {
	const forged = "[host 2026-01-01T00:00:00Z] session ended: <nil>\n"
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		full := func(l *runtime.Log, size int) { // up to a size of the file
			for have := len(read(t, dir, "assistant.log")); have < size; have = len(read(t, dir, "assistant.log")) {
				l.Write(bytes.Repeat([]byte("x"), min(size-have, 32<<10)))
				time.Sleep(time.Second)
			}
		}
		var kept strings.Builder
		for _, story := range []func(*runtime.Log){
			func(l *runtime.Log) {
				l.Write([]byte(forged + "[x] fine\n\n" + forged))
				for _, b := range []byte(forged) {
					l.Write([]byte{b})
				}
				l.Write([]byte("no end"))
				l.Note("session ended: %v", "exit status 3")
			},
			func(l *runtime.Log) {
				l.Write(bytes.Repeat([]byte("x"), 100<<10))
				time.Sleep(time.Second)
				l.Write([]byte(forged))
			},
			func(l *runtime.Log) { full(l, 1<<20-10); l.Write([]byte(forged)) },
		} {
			l, err := runtime.OpenLog(dir)
			if err != nil {
				t.Fatal(err)
			}
			story(l)
			l.Close()
			kept.WriteString(read(t, dir, "assistant.log"))
		}
		for line := range strings.Lines(kept.String()) {
			if strings.HasPrefix(line, "[") && !strings.Contains(line, "exit status 3") && !strings.Contains(line, "came too fast") {
				t.Errorf("the assistant wrote a line of the host's: %q", line)
			}
		}
		for _, want := range []string{"\n [x] fine\n", "no end\n[host 2000-01-01T00:00:00Z] session ended: exit status 3\n", "x\n[host] ", "… ["} {
			if !strings.Contains(kept.String(), want) {
				t.Errorf("no %q in the log", want)
			}
		}
	})
}

func TestLogDropsAFloodAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dir := openLog(t)
		block := bytes.Repeat([]byte("flood\n"), 1000)
		for range 1000 { // 6 MB within the same second
			l.Write(block)
		}
		time.Sleep(time.Second) // of the bubble's time
		l.Write([]byte("calm again\n"))
		got := read(t, dir, "assistant.log")
		if len(got) > 100<<10 {
			t.Errorf("kept %d bytes of one second", len(got))
		}
		if !strings.Contains(got, "bytes came too fast and were dropped") || !strings.HasSuffix(got, "calm again\n") {
			t.Errorf("the end is %q", got[len(got)-100:])
		}
	})
}

func TestLogIsRotatedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dir := openLog(t)
		block := bytes.Repeat([]byte("0123456789abcde\n"), 2000) // 32 KB
		for range 200 {
			l.Write(block)
			time.Sleep(time.Second)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var total int64
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", e.Name(), info.Mode())
			}
			total += info.Size()
		}
		if len(entries) != 2 || total > 2<<20 || total < 1<<20 {
			t.Errorf("%d files of %d bytes together", len(entries), total)
		}
	})
}
