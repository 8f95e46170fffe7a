package feed

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/sshside"
	"github.com/longshore-bridge/longshore/host/runtime"
)

// stream is what reaches an assistant.
type stream struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// never is a connection that must not be closed.
type never struct{ t *testing.T }

func (n never) Close() error { n.t.Error("the connection is broken off"); return nil }

// newFeeder is a feeder of a group with a file of a member's.
func newFeeder(t *testing.T, prompt string) (*Feeder, *stream) {
	t.Helper()
	dir, to := t.TempDir(), &stream{}
	f := &Feeder{
		Spec: runtime.Spec{WorkDir: filepath.Join(dir, "work"), IPC: filepath.Join(dir, "ipc"), Input: []byte(`{"prompt":` + prompt + `}`)},
		Mark: "longshore-MARK", To: to, Break: never{t}, Log: slog.New(slog.DiscardHandler),
	}
	for _, d := range []string{filepath.Join(f.Spec.WorkDir, "inbox"), f.inputs()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{f.Spec.WorkDir + "/inbox/a.txt": "of a member", dir + "/secret": "secret"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f, to
}

const named = `<messages>\n<message sender=\"Ann\">see\n<attachment path=\"/workspace/group/inbox/a.txt\" name=\"a.txt\" kind=\"document\" /></message>\n</messages>`

// TestFilesComeBeforeThePromptThatNamesThem, and before a follow-up that does.
func TestFilesComeBeforeThePromptThatNamesThem(t *testing.T) {
	f, to := newFeeder(t, `"`+named+`"`)
	if err := f.Open(sshside.Begin{Folder: "g"}); err != nil {
		t.Fatal(err)
	}
	if got := to.String(); strings.Index(got, "of a member") < 0 || strings.Index(got, "of a member") > strings.Index(got, `"kind":"document"`) {
		t.Errorf("the assistant gets %q", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	defer running.Wait()
	defer stop()
	if err := os.WriteFile(filepath.Join(f.inputs(), "1-000001.json"), []byte(`{"type":"message","text":"`+named+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(to.String(), `"kind":"input","name":"1-000001.json"`); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the assistant gets %q", to.String())
		}
	}
	if got := strings.Count(to.String(), "of a member"); got != 2 {
		t.Errorf("the file came %d times", got)
	}
}

// TestPromptBringsNothingFromOutsideTheWorkspace, whatever path a member has put into it.
func TestPromptBringsNothingFromOutsideTheWorkspace(t *testing.T) {
	for _, path := range []string{"/workspace/group/../secret", "/workspace/group/inbox/link", "/etc/hostname", "/workspace/group/inbox/dir"} {
		f, to := newFeeder(t, `"`+strings.ReplaceAll(named, "/workspace/group/inbox/a.txt", path)+`"`)
		err := errors.Join(os.Symlink("../../secret", filepath.Join(f.Spec.WorkDir, "inbox/link")), os.Mkdir(filepath.Join(f.Spec.WorkDir, "inbox/dir"), 0o700))
		if err = errors.Join(err, f.Open(sshside.Begin{Folder: "g"})); err != nil {
			t.Fatal(err)
		}
		if got := to.String(); strings.Contains(got, `"kind":"file"`) || strings.Contains(got, "secret\n") || !strings.Contains(got, `"kind":"document"`) {
			t.Errorf("%s: the assistant gets %q", path, got)
		}
	}
}

// TestLogIsWithoutTheHostsLines: only a line with the session's mark says what was read, and
// it leads to no file elsewhere.
func TestLogIsWithoutTheHostsLines(t *testing.T) {
	f, _ := newFeeder(t, `""`)
	for _, name := range []string{"1-000001.json", "2-000002.json", "../keep.json"} {
		if err := os.WriteFile(filepath.Join(f.inputs(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"1-000001.json", "2-000002.json"} {
		if err := f.handOver(name); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	to := f.LogTo(&log)
	for _, piece := range []string{"hello\nlongshore-", "MARK taken 1-000001.json\nlongshore-OTHER taken 2-000002.json\n", "longshore-MARK taken ../keep.json\nno end"} {
		if _, err := to.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff("hello\nlongshore-OTHER taken 2-000002.json\nno end", log.String()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(f.Spec.IPC, "keep.json")); err != nil {
		t.Error(err)
	}
	lie(t, f, "what nobody has read", "2-000002.json.handed")
}

// lie compares the files of the follow-ups.
func lie(t *testing.T, f *Feeder, when string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(f.inputs())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", when, diff)
	}
}

// TestAFollowUpThatHadBeenReadLookedUnread: the far program says a little later what the
// assistant has read, and a lost connection or a killed host left the follow-up as if nobody
// had read it. It counts as unread only if the far program has ended without it.
func TestAFollowUpThatHadBeenReadLookedUnread(t *testing.T) {
	f, to := newFeeder(t, `""`)
	for _, name := range []string{"1.json", "2.json", "3.json", "4.json", "_close"} {
		if err := os.WriteFile(filepath.Join(f.inputs(), name), []byte(`{}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.To = writes(func(p []byte) (int, error) { // the assistant can read it from here on
		if strings.Contains(string(p), "1.json") {
			lie(t, f, "while the first is handed over", "1.json.handed", "2.json", "3.json", "4.json", "_close")
		}
		return to.Write(p)
	})
	for _, name := range []string{"1.json", "2.json", "_close"} {
		if err := f.handOver(name); err != nil {
			t.Fatal(err)
		}
	}
	names, err := f.fresh()
	if diff := cmp.Diff([]string{"3.json", "4.json"}, names); diff != "" || err != nil {
		t.Errorf("to hand over: %s, %v", diff, err)
	}
	says := func(line string) {
		t.Helper()
		if _, err := f.LogTo(&bytes.Buffer{}).Write([]byte("longshore-MARK " + line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	says("taken 1.json")
	says("taken 3.json") // which it does not have
	lie(t, f, "one was read", "2.json.handed", "3.json", "4.json", "_close")
	says("ended")
	lie(t, f, "it has ended", "2.json", "3.json", "4.json", "_close")
	if err := f.handOver("3.json"); err != nil || strings.Contains(to.String(), "3.json") {
		t.Errorf("after the end: %v, %s", err, to)
	}
	lie(t, f, "after the end", "2.json", "3.json", "4.json", "_close")
}

type writes func([]byte) (int, error)

func (w writes) Write(p []byte) (int, error) { return w(p) }
