package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
)

func looking(t *testing.T) *env {
	t.Helper()
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	stage.Write(t, file, "state: ./state\nchannels: {whatsapp: {}, web: {listen: \"127.0.0.1:0\"}}\ngroups: [{name: Family, folder: family, chat: \"web:family\"}]\n")
	return &env{
		Terminal:  terminal.Terminal{Config: file, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)},
		platforms: stage.AllPlatforms(), getenv: func(string) string { return "" },
	}
}

// TestAStateThatCannotBeReadLookedLikeOneWithoutGroups.
func TestAStateThatCannotBeReadLookedLikeOneWithoutGroups(t *testing.T) {
	e := looking(t)
	c, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(serve.StateOf(c).Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stage.Write(t, filepath.Join(serve.StateOf(c).Dir, "longshore.db"), strings.Repeat("no database ", 1000))
	if err := e.showConfig(); err != nil {
		t.Fatal(err)
	}
	if said := e.Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "registered groups could not be read: ") {
		t.Errorf("config show says %q", said)
	}
	found, all := 0, e.examine(t.Context())
	for _, f := range all {
		if strings.Contains(f.Cause, "longshore.db") && f.Remedy != "" {
			found++
		}
	}
	if found != 1 { // it was told of the groups, and again of the state
		t.Errorf("doctor says %+v", all)
	}
}

// TestUnpairLeftTheMessagesBecauseAnotherCommandRan.
func TestUnpairLeftTheMessagesBecauseAnotherCommandRan(t *testing.T) {
	e := looking(t)
	c, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := store.Lock(serve.StateOf(c))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	err = e.unpair(t.Context(), linkers(e.platforms)[0], []string{"whatsapp"})
	if err == nil || !strings.Contains(err.Error(), "the state is in use") {
		t.Errorf("unpair: %v", err)
	}
}

// TestUnpairMadeAStateBesideAnInterruptedRestore.
func TestUnpairMadeAStateBesideAnInterruptedRestore(t *testing.T) {
	e := looking(t)
	c, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.Layout().Restoring().State, 0o700); err != nil {
		t.Fatal(err)
	}
	err = e.unpair(t.Context(), linkers(e.platforms)[0], []string{"whatsapp"})
	if err == nil || !strings.Contains(err.Error(), "a restore was interrupted") {
		t.Errorf("unpair: %v", err)
	}
	if _, err := os.Stat(filepath.Join(serve.StateOf(c).Dir, "longshore.db")); !os.IsNotExist(err) {
		t.Errorf("there is a state: %v", err)
	}
}
