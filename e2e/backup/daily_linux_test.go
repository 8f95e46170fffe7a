//go:build linux

package backup

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// plan wants those options.
type plan backup.Options

func (p plan) DailyBackup() (backup.Options, bool) { return backup.Options(p), true }

// madeState has n blobs and some megabytes of rows.
func madeState(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	stage.Write(t, filepath.Join(dir, "longshore.yaml"), "state: .\n")
	db, end := statetest.Start(t, dir)
	defer end()
	_, err := db.Exec(t.Context(), `INSERT INTO bytes (id, data) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, zeroblob(10000) FROM n`)
	stage.Must(t, err)
	for range n {
		b, err := db.Blobs.Stage(t.Context(), strings.NewReader(strings.Repeat("x", 17000)), 1<<20, nil)
		stage.Must(t, err)
		_, err = db.Exec(t.Context(), `INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES (?, '', '', '', '', '', 0, ?, 0, 0)`, b.Name, b.Name)
		stage.Must(t, err)
	}
	return dir
}

// TestAHostThatDiedInItsBackupLeavesOnlyWholeOnes kills it at a moment further on each time.
func TestAHostThatDiedInItsBackupLeavesOnlyWholeOnes(t *testing.T) {
	t.Parallel()
	dir := madeState(t, 200)
	o := dailyOptions(dir)
	exe, err := os.Executable()
	stage.Must(t, err)
	cut := 0
	for _, sign := range []string{"state/blobs", "state/blobs/????????????????????????????????", "state/longshore.db", "longshore.yaml", "manifest.jsonl"} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), dailyEnv+"="+dir)
		stage.Must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		killedAt(t, cmd.Process, ended, filepath.Join(o.Dir, ".longshore-*.partial", sign))
		cut += len(leftOf(t, o.Dir, ".longshore-*.partial"))
		synctest.Test(t, func(t *testing.T) { // the next start
			db, end := statetest.Start(t, dir)
			defer end()
			ctx, stop := context.WithCancel(t.Context())
			go backup.NewDaily(plan(o), db, slog.New(slog.DiscardHandler)).Run(ctx)
			synctest.Wait()
			stop()
			synctest.Wait()
		})
		if left := leftOf(t, o.Dir, ".longshore-*.partial"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		for _, whole := range leftOf(t, o.Dir, "longshore-*") {
			if c, err := backup.Verify(t.Context(), whole); err != nil || len(c.Wrong)+len(c.Strange) > 0 || c.Files != 202 {
				t.Errorf("%s: %v, %+v", whole, err, c)
			}
		}
	}
	if cut == 0 {
		t.Error("no backup was cut off")
	}
}

// TestABackupOnAnotherDiskLeavesOutWhatItCannotLink, and says so.
func TestABackupOnAnotherDiskLeavesOutWhatItCannotLink(t *testing.T) {
	dir := madeState(t, 3)
	disk := fstest.SmallDisk(t, "64m")
	link := filepath.Join(t.TempDir(), "link")
	stage.Must(t, os.Symlink(disk, link))
	db := statetest.Open(t, dir)
	o := dailyOptions(dir)
	o.Dir, o.Now, o.Reserve = link, time.Now(), 1<<60 // for the state's disk alone
	r, err := backup.TakeState(t.Context(), o, db)
	if err != nil || r.LeftOut != 3 || r.Files != 2 || filepath.Dir(r.Dir) != disk {
		t.Fatalf("%+v, %v", r, err)
	}
	if c, err := backup.Verify(t.Context(), r.Dir); err != nil || len(c.Wrong)+len(c.Strange) > 0 || c.LeftOut != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	to := filepath.Join(dir, "groups", "backups")
	if o.Dir = to; func() error { _, err := backup.TakeState(t.Context(), o, db); return err }() == nil {
		t.Error("a backup was made where an assistant can read it")
	}
}

// TestADiskThatFillsInABackupLeavesNothingOfIt: the database has holes, which the copy has not.
func TestADiskThatFillsInABackupLeavesNothingOfIt(t *testing.T) {
	dir := madeState(t, 3)
	db, end := statetest.Start(t, dir)
	_, err := db.Exec(t.Context(), `DELETE FROM bytes`)
	stage.Must(t, err)
	end()
	punch(t, filepath.Join(dir, "longshore.db"))
	db = statetest.Open(t, dir)
	o := dailyOptions(dir)
	o.Dir, o.Now = fstest.SmallDisk(t, "8m"), time.Now()
	if _, err := backup.TakeState(t.Context(), o, db); err == nil || !strings.Contains(err.Error(), "the disk is full") || strings.Contains(err.Error(), "it needs") {
		t.Errorf("%v", err)
	}
	if left := leftOf(t, o.Dir, "*"); len(left) != 1 || filepath.Base(left[0]) != ".lock" {
		t.Errorf("left: %v", left)
	}
	_, err = db.Exec(t.Context(), `UPDATE delivery_order SET last = last + 1`)
	stage.Must(t, err)
}

// punch makes holes of a file's zeros.
func punch(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	stage.Must(t, err)
	defer f.Close()
	block, zeros := make([]byte, 4096), make([]byte, 4096)
	for at := int64(0); ; at += int64(len(block)) {
		if n, err := f.ReadAt(block, at); n < len(block) || err != nil {
			return
		}
		if bytes.Equal(block, zeros) {
			stage.Must(t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, int64(len(block))))
		}
	}
}
