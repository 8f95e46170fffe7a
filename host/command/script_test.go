package command

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
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/confine"
)

// TestScripts runs the transcripts in testdata/script: each command as its
// users see it. Three commands are added to testscript's own: "json" fails unless
// stdout is one JSON value, "await" waits for a host on a state directory, and "daily" makes
// the backup that a host makes once a day.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", "/nonexistent")
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": isJSON, "await": awaitHost, "daily": dailyBackup},
	})
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

// TestMain lets the scripts and the tests run longshore as a process of its own.
func TestMain(m *testing.M) {
	confine.Child()
	stage.Become(stage.Program{Main: Main, Run: Run})
	// Hosts in processes of their own wait more than they work. A -parallel of the command line counts more.
	flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0))))
	testscript.Main(withEngine{m}, map[string]func(){"longshore": func() { os.Exit(Main("", stage.AllPlatforms(), os.Args[1:])) }})
}

// withEngine stops the container engine of the tests after them.
type withEngine struct{ m *testing.M }

func (w withEngine) Run() int { return stage.Run(w.m) }
