package backup_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// site is an installation with one state, and what its configuration wants.
type site struct {
	*testing.T
	db   *state.DB
	opts backup.Options
	off  bool
}

func (s *site) DailyBackup() (backup.Options, bool) { return s.opts, !s.off }

func newSite(t *testing.T) *site {
	t.Helper()
	l := groups.Layout{State: t.TempDir()}
	s := &site{T: t, opts: backup.Options{Dir: l.Backups(), Config: filepath.Join(t.TempDir(), "longshore.yaml"), Layout: l, Keep: 7}}
	if err := os.WriteFile(s.opts.Config, []byte("state: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens the state, as a start does.
func (s *site) open() (end func()) {
	s.Helper()
	s.db, end = statetest.Start(s, s.opts.Layout.State)
	return end
}

// run runs a host's daily backups until stop is called.
func (s *site) run() (d *backup.Daily, stop func()) {
	d = backup.NewDaily(s, s.db, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	return d, func() { cancel(); <-done }
}

// names are those in the directory of the backups.
func (s *site) names() (all []string) {
	s.Helper()
	entries, err := os.ReadDir(s.opts.Dir)
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".lock" {
			all = append(all, e.Name())
		}
	}
	return all
}

// after lets time pass, and returns the names.
func (s *site) after(d time.Duration) []string {
	s.Helper()
	time.Sleep(d)
	synctest.Wait()
	return s.names()
}

// name is that of a backup which is made now.
func (s *site) name() string {
	return "longshore-00000000-" + time.Now().UTC().Format("20060102T150405Z")
}

func (s *site) want(got []string, want ...string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("there are %q, want %q", got, want)
	}
}

const day = 24 * time.Hour

// inBubble runs a test in which time is no real one.
func inBubble(t *testing.T, test func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		end := s.open()
		defer end()
		test(s)
	})
}

func TestABackupIsMadeOnceADayAndSevenStay(t *testing.T) {
	inBubble(t, func(s *site) {
		d, stop := s.run()
		s.want(s.after(10*time.Minute - time.Second))
		if _, _, known := d.Last(); known {
			s.Error("a start that has looked at nothing says that nothing is wrong")
		}
		first := s.after(time.Second)
		s.want(first, s.name())
		if last, problem, known := d.Last(); !last.Equal(time.Now()) || problem != nil || !known {
			s.Errorf("%v, %v, %v", last, problem, known)
		}
		s.want(s.after(day-time.Second), first...)
		if all := s.after(time.Second); len(all) != 2 {
			s.Errorf("after a day there are %q", all)
		}
		all := s.after(9 * day)
		if len(all) != 7 || slices.Contains(all, first[0]) || !slices.Contains(all, s.name()) {
			s.Errorf("after ten days there are %q", all)
		}
		time.Sleep(time.Hour)
		for range 3 { // a start each hour
			stop()
			d, stop = s.run()
			s.want(s.after(time.Hour), all...)
			if last, _, known := d.Last(); !known || last.IsZero() {
				s.Error("a start does not know the last backup")
			}
		}
		stop()
		for _, name := range all {
			c, err := backup.Verify(s.Context(), filepath.Join(s.opts.Dir, name))
			if err != nil || len(c.Wrong)+len(c.Strange) > 0 || !c.StateAlone {
				s.Errorf("%s: %v, %+v", name, err, c)
			}
		}
		s.private()
	})
}

// private checks that other users cannot read a backup.
func (s *site) private() {
	s.Helper()
	err := filepath.WalkDir(s.opts.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			s.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		s.Error(err)
	}
}

// A backup by hand is no daily one, nor is that of another host, and what is no backup at all.
func TestOnlyTheHostsOwnDailyBackupsCountAndAreDeleted(t *testing.T) {
	inBubble(t, func(s *site) {
		others := []string{"longshore-19990101T000000Z", "longshore-11111111-19990101T000000Z", "longshore-00000000-notes", "longshore-00000000-19990101T000000Z"}
		for i, name := range others {
			dir := fstest.Mkdir(s.T, s.opts.Dir, name)
			if i < 3 {
				if err := os.WriteFile(filepath.Join(dir, "manifest.jsonl"), []byte("{}"), 0o600); err != nil {
					s.Fatal(err)
				}
			}
		}
		_, stop := s.run()
		all := s.after(10 * day)
		stop()
		for _, name := range others {
			if !slices.Contains(all, name) {
				s.Errorf("%s was deleted", name)
			}
		}
		if len(all) != len(others)+7 {
			s.Errorf("there are %q", all)
		}
	})
}

func TestAClockThatWasAheadStopsNoBackupAndLosesNone(t *testing.T) {
	inBubble(t, func(s *site) {
		s.opts.Keep = 3
		_, stop := s.run()
		good := s.after(2*day + time.Hour) // three
		stop()
		later := func(name string) string { return strings.Replace(name, "-2000", "-2031", 1) }
		for _, name := range good {
			if err := os.Rename(filepath.Join(s.opts.Dir, name), filepath.Join(s.opts.Dir, later(name))); err != nil {
				s.Fatal(err)
			}
		}
		_, stop = s.run()
		all := s.after(time.Hour)
		if len(all) != 3 || slices.Contains(all, later(good[0])) {
			s.Errorf("there are %q of the clock's future; no new one, or one of the newest is gone", all)
		}
		fresh := all[0]
		if all = s.after(2 * day); len(all) != 3 || slices.ContainsFunc(all, func(n string) bool { return strings.Contains(n, "-2031") }) || all[0] != fresh {
			s.Errorf("two days later there are %q", all)
		}
		stop()
		soon := "longshore-00000000-" + time.Now().UTC().Add(20*time.Hour).Format("20060102T150405Z")
		if err := os.Rename(filepath.Join(s.opts.Dir, all[2]), filepath.Join(s.opts.Dir, soon)); err != nil {
			s.Fatal(err)
		}
		_, stop = s.run()
		if all := s.after(3 * time.Hour); !slices.Contains(all, soon) || len(all) != 3 {
			s.Errorf("a clock that was ahead by hours: %q", all)
		}
		stop()
	})
}

func TestABackupThatFailsIsSaidAndTriedAgain(t *testing.T) {
	inBubble(t, func(s *site) {
		if err := os.WriteFile(s.opts.Dir, nil, 0o600); err != nil { // no directory
			s.Fatal(err)
		}
		d, stop := s.run()
		defer stop()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if _, problem, known := d.Last(); problem == nil || !known {
			s.Errorf("%v, %v", problem, known)
		}
		if err := os.Remove(s.opts.Dir); err != nil {
			s.Fatal(err)
		}
		s.want(s.after(30 * time.Minute))
		if all := s.after(30 * time.Minute); len(all) != 1 {
			s.Errorf("there are %q", all)
		}
		if _, problem, _ := d.Last(); problem != nil {
			s.Error(problem)
		}
	})
}

func TestABackupThatWouldTakeTheDiskIsSkippedAndSaid(t *testing.T) {
	inBubble(t, func(s *site) {
		s.opts.Reserve = 1 << 60
		d, stop := s.run()
		defer stop()
		s.want(s.after(time.Hour))
		if _, problem, _ := d.Last(); problem == nil || !strings.Contains(problem.Error(), "the disk is full: it needs") {
			s.Error(problem)
		}
	})
}

func TestAReloadTakesUpAnotherDirectoryAndTurnsBackupsOff(t *testing.T) {
	inBubble(t, func(s *site) {
		s.off = true
		d, stop := s.run()
		defer stop()
		s.want(s.after(3 * day))
		s.off = false
		d.Wake()
		if all := s.after(time.Second); len(all) != 1 {
			s.Errorf("turned on, there are %q", all)
		}
		s.opts.Dir = filepath.Join(s.TempDir(), "elsewhere")
		fstest.Mkdir(s.T, filepath.Dir(s.opts.Dir), "elsewhere")
		d.Wake()
		if all := s.after(time.Second); len(all) != 1 {
			s.Errorf("in another directory there are %q", all)
		}
		s.off = true
		d.Wake()
		if all := s.after(3 * day); len(all) != 1 {
			s.Errorf("turned off, there are %q", all)
		}
	})
}

// TestABackupWasMadeBesideTheDiskThatWasNotMounted: a missing directory of the operator's was made,
// on whichever disk was there.
func TestABackupWasMadeBesideTheDiskThatWasNotMounted(t *testing.T) {
	inBubble(t, func(s *site) {
		s.opts.Dir = filepath.Join(s.TempDir(), "disk", "backups")
		_, stop := s.run()
		defer stop()
		s.after(day)
		if _, err := os.Stat(filepath.Dir(s.opts.Dir)); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("the directory was made: %v", err)
		}
	})
}

func TestAStartDeletesWhatACrashLeftOfABackup(t *testing.T) {
	inBubble(t, func(s *site) {
		fstest.Mkdir(s.T, s.opts.Dir, ".longshore-1.partial/state")
		fstest.Mkdir(s.T, s.opts.Dir, "mine")
		_, stop := s.run()
		defer stop()
		s.want(s.after(0), "mine")
	})
}

// A damaged database would have driven the good backups out, one each day.
func TestADamagedDatabaseKeepsTheGoodBackups(t *testing.T) {
	inBubble(t, func(s *site) {
		if _, err := s.db.Exec(s.Context(), `INSERT INTO bytes (id, data) VALUES (1, randomblob(9000000))`); err != nil {
			s.Fatal(err)
		}
		_, stop := s.run()
		good := s.after(8 * day)
		stop()
		if err := s.db.Close(); err != nil {
			s.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(s.opts.Layout.State, "longshore.db"), os.O_RDWR, 0)
		if err != nil {
			s.Fatal(err)
		}
		info, _ := f.Stat()
		for at := int64(1 << 20); at < info.Size()-4096; at += 4096 {
			if _, err := f.WriteAt([]byte(strings.Repeat("damage", 600)), at); err != nil {
				s.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			s.Fatal(err)
		}
		s.open()
		d, stop := s.run()
		defer stop()
		s.want(s.after(3*day), good...)
		if _, problem, _ := d.Last(); problem == nil || !strings.Contains(problem.Error(), "damaged") {
			s.Error(problem)
		}
	})
}

// stage makes a blob in the directory, and a link that names it.
func (s *site) stage(content string) (name string) {
	s.Helper()
	b, err := s.db.Blobs.Stage(s.Context(), strings.NewReader(strings.Repeat(content, 20000)), 1<<20, nil)
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.db.Exec(s.Context(), `INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES (?, '', '', '', '', '', 0, ?, 0, 0)`, b.Name, b.Name)
	if err != nil {
		s.Fatal(err)
	}
	return b.Name
}

// state makes one backup and returns its directory.
func (s *site) state() backup.Report {
	s.Helper()
	s.opts.Now = time.Now()
	r, err := backup.TakeState(s.Context(), s.opts, s.db)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func TestABackupLinksTheBlobsThatTheStateNames(t *testing.T) {
	inBubble(t, func(s *site) {
		one, two := s.stage("1"), s.stage("2")
		if _, err := s.db.Blobs.Stage(s.Context(), strings.NewReader(strings.Repeat("3", 20000)), 1<<20, nil); err != nil { // nothing names it
			s.Fatal(err)
		}
		r := s.state()
		blobs := filepath.Join(r.Dir, "state", "blobs")
		entries, err := os.ReadDir(blobs)
		if err != nil || len(entries) != 2 {
			s.Fatalf("%v, %v", entries, err)
		}
		for _, name := range []string{one, two} {
			a, err := os.Stat(filepath.Join(s.opts.Layout.State, "blobs", name))
			b, err2 := os.Stat(filepath.Join(blobs, name))
			if err != nil || err2 != nil || !os.SameFile(a, b) {
				s.Errorf("%s is no link: %v, %v", name, err, err2)
			}
		}
		if err := s.db.Blobs.Remove(one); err != nil { // the backup still has it
			s.Fatal(err)
		}
		if c, err := backup.Verify(s.Context(), r.Dir); err != nil || len(c.Wrong)+len(c.Strange) > 0 || c.Files != 4 {
			s.Errorf("%+v, %v", c, err)
		}
	})
}

// All blobs, of perhaps a terabyte, would have been read each day.
func TestABlobIsNotReadForEachBackup(t *testing.T) {
	inBubble(t, func(s *site) {
		old := s.stage("1")
		first := s.state()
		manifest := filepath.Join(first.Dir, "manifest.jsonl")
		text, err := os.ReadFile(manifest)
		if err != nil {
			s.Fatal(err)
		}
		at := strings.Index(string(text), old)
		sha := strings.Index(string(text[at:]), `"sha256":"`) + at + len(`"sha256":"`)
		copy(text[sha:], strings.Repeat("0", 64))
		if err := os.WriteFile(manifest, text, 0o600); err != nil {
			s.Fatal(err)
		}
		s.stage("2")
		time.Sleep(day)
		c, err := backup.Verify(s.Context(), s.state().Dir)
		if err != nil || len(c.Wrong) != 1 || !strings.Contains(c.Wrong[0], old) {
			s.Errorf("%+v, %v", c, err)
		}
	})
}

// A backup by hand copied each daily one again, or waited for the one that is being made.
func TestABackupByHandAndADailyOneLeaveEachOtherAlone(t *testing.T) {
	inBubble(t, func(s *site) {
		s.stage("1")
		s.state()
		fstest.Mkdir(s.T, s.opts.Dir, ".longshore-1.partial/state")
		l, hand := s.opts.Layout, s.TempDir()
		r, err := backup.Take(s.Context(), backup.Options{Dir: hand, Config: s.opts.Config, Layout: l, Stores: []store.Spec{s.db.Spec}, Now: time.Now()})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(r.Dir, "state", "backups")); !os.IsNotExist(err) {
			s.Errorf("it has the daily ones: %v", err)
		}
		if _, err := os.Lstat(filepath.Join(s.opts.Dir, ".longshore-1.partial")); err != nil {
			s.Error(err)
		}
		lock, err := os.OpenFile(filepath.Join(hand, ".lock"), os.O_RDWR, 0)
		if err == nil {
			defer lock.Close()
			err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		}
		if err != nil {
			s.Fatal(err)
		}
		s.opts.Dir = hand // where somebody makes one by hand
		d, stop := s.run()
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, problem, _ := d.Last(); !errors.Is(problem, backup.ErrBusy) {
			s.Error(problem)
		}
		if err := lock.Close(); err != nil {
			s.Fatal(err)
		}
		if all := s.after(time.Hour); len(all) != 2 {
			s.Errorf("there are %q", all)
		}
		stop()
	})
}

// The host named a backup that had been deleted, for up to a day.
func TestABackupThatWasGoneWasNamed(t *testing.T) {
	inBubble(t, func(s *site) {
		d, stop := s.run()
		defer stop()
		if all := s.after(11 * time.Minute); len(all) != 1 {
			s.Fatalf("there are %q", all)
		}
		if err := os.Rename(s.opts.Dir, s.opts.Dir+" of before"); err != nil {
			s.Fatal(err)
		}
		s.after(2 * time.Minute)
		if last, problem, known := d.Last(); !last.IsZero() || problem == nil || !strings.Contains(problem.Error(), "is not in "+s.opts.Dir) || !known {
			s.Errorf("%v, %v, %v", last, problem, known)
		}
		if err := os.Rename(s.opts.Dir+" of before", s.opts.Dir); err != nil {
			s.Fatal(err)
		}
		s.after(2 * time.Minute)
		if last, problem, _ := d.Last(); last.IsZero() || problem != nil {
			s.Errorf("put back: %v, %v", last, problem)
		}
	})
}
