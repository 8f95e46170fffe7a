// Package commands tells the stories of longshore's commands as their users see them.
package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/backup"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestScripts runs the transcripts in testdata/script: each command as its
// users see it. Three commands are added to testscript's own: "json" fails unless
// stdout is one JSON value, "await" waits for a host on a state directory, and "daily" makes
// the backup that a host makes once a day.
func TestScripts(t *testing.T) { testscript.Run(t, scripts("testdata/script")) }

// TestScriptsOnDisk runs those that share a directory of theirs with a group: none below /dev is.
func TestScriptsOnDisk(t *testing.T) {
	p := scripts("testdata/script_disk")
	if os.TempDir() == "/dev/shm" {
		root, err := os.MkdirTemp("/tmp", "longshore-scripts-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stage.Must(t, os.RemoveAll(root)) }) // the scripts that ran in parallel have ended
		p.WorkdirRoot = root
	}
	testscript.Run(t, p)
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", "/nonexistent")
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": isJSON, "await": awaitHost, "daily": dailyBackup},
	}
}

func isJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: json")
	}
	dec := json.NewDecoder(bytes.NewBufferString(ts.ReadFile("stdout")))
	var v any
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	if dec.More() {
		ts.Fatalf("stdout holds more than one JSON value")
	}
}

func awaitHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: await STATE [CHANNEL…]")
	}
	client := operator.NewClient(ts.MkAbs(args[0]))
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := client.Status(context.Background())
		if err == nil && status.Running && stage.Ready(status, args[1:]) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("no host on %s: %v, %+v", args[0], err, status)
		}
	}
}

func dailyBackup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: daily")
	}
	ctx := context.Background()
	cfg, err := config.Load(ts.MkAbs("longshore.yaml"), stage.AllPlatforms())
	ts.Check(err)
	db, err := state.Open(ctx, serve.StateOf(cfg), slog.New(slog.DiscardHandler))
	ts.Check(err)
	_, err = backup.TakeState(ctx, backup.Options{Dir: cfg.Layout().Backups(), Config: cfg.File, Layout: cfg.Layout(), Now: time.Now()}, db)
	ts.Check(errors.Join(err, db.Close()))
}

// TestMain lets the scripts run longshore as a process of its own.
func TestMain(m *testing.M) {
	confine.Child()
	stage.Become(stage.Program{Main: longshore.Main, Run: longshore.Run})
	// Hosts in processes of their own wait more than they work. A -parallel of the command line counts more.
	flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0))))
	testscript.Main(inMemory{m}, map[string]func(){"longshore": func() { os.Exit(longshore.Main("", stage.AllPlatforms(), os.Args[1:])) }})
}

// inMemory runs the tests, but no command of theirs, with their directories in memory.
type inMemory struct{ m *testing.M }

func (i inMemory) Run() int {
	fstest.Memory()
	return i.m.Run()
}
