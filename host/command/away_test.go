package command

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// The greatest number that -n takes is no reason to panic, and a negative one is refused.
func TestASearchOfTheTrailForVeryManyEntriesEnds(t *testing.T) {
	o := audit.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	log, err := audit.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		log.Add(audit.Entry{Event: "refused"})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]int{int(^uint(0) >> 1): 10, 1: 1, 3: 3, 10: 10} {
		if all, err := audit.Newest(t.Context(), audit.Files(o.Dir), audit.Query{}, most); err != nil || len(all) != want || all[want-1].Number != 10 {
			t.Errorf("-n %d: %d entries, %v", most, len(all), err)
		}
	}
	if all, err := audit.Newest(t.Context(), audit.Files(o.Dir), audit.Query{Event: "none"}, 100); err != nil || all == nil {
		t.Errorf("nothing fits: %#v, %v", all, err)
	}
	if _, errs, code := stage.RunLine(t, "longshore.yaml", "audit", "search", "-n", "-1"); code != terminal.ExitUsage {
		t.Errorf("-n -1: %q, %d", errs, code)
	}
}

// While the host restarts, what the assistant writes was read, and then thrown away.
func TestLogsPrintWhatTheAssistantWritesWhileTheHostIsAway(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	v := &logView{
		e: &env{Terminal: terminal.Terminal{Stdout: &said, Stderr: &said}}, host: operator.NewClient(dir), // nobody listens there
		query: operator.LogQuery{Group: "g0"}, file: filepath.Join(dir, "assistant.log"),
	}
	if err := os.WriteFile(v.file, []byte("the only line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := v.print(t.Context()); err == nil {
			t.Error("the host that is away is no error")
		}
	}
	if said.String() != "g0 | the only line\n" {
		t.Errorf("%q", said.String())
	}
}

// Without a host, -n bounded every later look too.
func TestLogsFollowAllLinesAfterTheFirstLook(t *testing.T) {
	var said strings.Builder
	v := &logView{e: &env{Terminal: terminal.Terminal{Stdout: &said, Stderr: &said}}, query: operator.LogQuery{Group: "g0", Limit: 1}, file: filepath.Join(t.TempDir(), "assistant.log")}
	for _, text := range []string{"1\n2\n", "1\n2\n3\n4\n5\n"} {
		if err := os.WriteFile(v.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := v.print(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if want := "g0 | 2\ng0 | 3\ng0 | 4\ng0 | 5\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}

// A configuration that this user may not read was passed over for another one, which
// the command then read, or wrote.
func TestAConfigurationThatMayNotBeReadIsNotPassedOver(t *testing.T) {
	if os.Geteuid() == 0 { // root may read everything
		fstest.AsAnotherUser(t)
		return
	}
	t.Chdir(t.TempDir())
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "longshore")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, defaultConfig)
	if err := os.WriteFile(path, []byte("groups: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	e := &env{getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	if e.find(false); e.Config != path {
		t.Errorf("%s, not %s", e.Config, path)
	}
}
