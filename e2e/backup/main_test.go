// Package backup tells the stories of backup and restore, and what a restore does not repeat.
package backup

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/backup"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dailyEnv); dir != "" {
		makeDailies(dir)
	}
	stage.Main(m, stage.Program{Main: longshore.Main, Run: longshore.Run})
}

// dailyEnv has this program make one daily backup after the other of the state in that directory,
// until it is killed.
const dailyEnv = "LONGSHORE_TEST_DAILY"

func makeDailies(dir string) {
	db, err := state.Open(context.Background(), statetest.Spec(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	for at := time.Unix(1e9, 0); ; at = at.Add(time.Hour) {
		o := dailyOptions(dir)
		o.Now = at
		if _, err := backup.TakeState(context.Background(), o, db); err != nil {
			panic(err)
		}
	}
}

func dailyOptions(dir string) backup.Options {
	l := groups.Layout{State: dir}
	return backup.Options{Dir: l.Backups(), Config: filepath.Join(dir, "longshore.yaml"), Layout: l, Keep: 2}
}
