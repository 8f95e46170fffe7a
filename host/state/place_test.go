package state_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// sharing is a host whose files lie in a directory that hosts share.
type sharing struct {
	*testing.T
	*state.DB
	files string
	log   strings.Builder
}

// share opens the state in dir. The host runs until the returned function is called.
func share(t *testing.T, dir, files string) (_ *sharing, end func()) {
	t.Helper()
	s, run := shareOnly(t, dir, files, blob.NewDirectory(files))
	return s, run()
}

// shareOnly is share of a host that runs once run is called.
func shareOnly(t *testing.T, dir, files string, place blob.Place) (_ *sharing, run func() (end func())) {
	t.Helper()
	statetest.SQLiteOnly(t, "a bubble of synctest cannot hold a socket")
	s := &sharing{T: t, files: files}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	db, err := state.OpenAt(t.Context(), statetest.Spec(dir), place, log)
	if err != nil {
		t.Fatal(err)
	}
	s.DB = db
	return s, func() func() {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := db.Run(ctx, log); err != nil {
				t.Error(err)
			}
		}()
		return func() {
			cancel()
			<-done
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// make publishes a file that no record names yet.
func (s *sharing) make() blob.Blob {
	s.Helper()
	b, err := s.Blobs.Stage(s.Context(), strings.NewReader(strings.Repeat("x", 20000)), 1<<20, nil)
	if err == nil {
		err = s.Blobs.Publish(s.Context(), b.Name)
	}
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// record records a file.
func (s *sharing) record(name string) {
	s.Helper()
	exec(s.T, s.DB, `INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES (?, '', '', '', '', '', 0, ?, 0, 0)`, name, name)
}

// forget deletes a file's record, and the file as its owner does.
func (s *sharing) forget(name string) {
	s.Helper()
	err := s.Do(s.Context(), func(t *state.Tx) error {
		if err := t.Exec(`DELETE FROM link WHERE id = ?`, name); err != nil {
			return err
		}
		return blob.Delete(t, name)
	}, nil)
	if err = errors.Join(err, s.Blobs.Remove(name)); err != nil {
		s.Fatal(err)
	}
}

// after lets time pass and says whether a file is still in the directory.
func (s *sharing) after(d time.Duration, name string) bool {
	s.Helper()
	time.Sleep(d)
	synctest.Wait()
	_, err := os.Lstat(filepath.Join(s.files, name))
	return err == nil
}

func TestAFileGoesAnHourAfterItsRecord(t *testing.T) {
	files := t.TempDir()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, end := share(t, dir, files)
		stays, goes := s.make().Name, s.make().Name
		s.record(stays)
		s.record(goes)
		time.Sleep(2 * time.Hour)
		s.forget(goes)
		if !s.after(59*time.Minute, goes) {
			t.Error("it went with its record: a backup of that moment lacks it")
		}
		release := s.Blobs.Hold() // a backup is made
		if !s.after(time.Hour, goes) {
			t.Error("it went while a backup was made")
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if s.after(6*time.Minute, goes) {
			t.Error("it stays for ever")
		}
		if !s.after(2*time.Hour, stays) {
			t.Error("a file that a record names was deleted")
		}
		end()
	})
}

// The old owner died after it had stored a file and before its record was committed.
func TestTheNextOwnerDeletesWhatTheOldOneLeftAndNothingElse(t *testing.T) {
	files := t.TempDir()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		old, end := share(t, dir, files)
		synctest.Wait()
		left, recorded := old.make().Name, old.make().Name
		old.record(recorded)
		half := strings.Repeat("a", 32) + ".0123456789abcdef.part"
		foreign := "notes.txt"
		for _, name := range []string{half, foreign} {
			if err := os.WriteFile(filepath.Join(files, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		end()

		s, run := shareOnly(t, dir, files, blob.NewDirectory(files))
		late := s.make().Name // recorded only after the sweep has listed it
		end = run()
		synctest.Wait()
		s.record(late)
		time.Sleep(2 * time.Hour)
		if log := s.log.String(); !strings.Contains(log, "files=2") || !strings.Contains(log, "did not make") {
			t.Error(log)
		}
		end()
		time.Sleep(blob.KeepStrange - 4*time.Hour) // nobody runs: this takes less time to test

		s, end = share(t, dir, files)
		defer end()
		for _, name := range []string{left, half} {
			if !s.after(0, name) {
				t.Errorf("%s went at once: its record may have been lost", name)
			}
		}
		time.Sleep(3 * time.Hour)
		for _, name := range []string{left, half} {
			if s.after(0, name) {
				t.Errorf("%s stays for ever", name)
			}
		}
		for _, name := range []string{recorded, late, foreign, blob.Marker} {
			if !s.after(time.Hour, name) {
				t.Errorf("%s was deleted", name)
			}
		}
	})
}

func TestAHostStartsWithoutItsFilesAndFindsThemLater(t *testing.T) {
	files := filepath.Join(t.TempDir(), "mount")
	dir := t.TempDir()
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, end := share(t, dir, files)
		b, lost := s.make(), s.make()
		s.record(b.Name)
		s.record(lost.Name)
		end()
		if err := errors.Join(os.Remove(filepath.Join(files, lost.Name)), os.Rename(files, files+"-away"), os.Mkdir(files, 0o700)); err != nil {
			t.Fatal(err)
		}
		s, end = share(t, dir, files)
		defer end()
		synctest.Wait()
		found := func() (names []string) {
			for _, f := range s.Blobs.Findings(t.Context()) {
				names = append(names, f.Name)
			}
			return names
		}
		if got := found(); len(got) != 1 || got[0] != finding.FilesAway {
			t.Errorf("found %v", got)
		}
		if _, err := s.Blobs.Open(t.Context(), b.Name, b.SHA256, b.Size); err == nil {
			t.Error("opened")
		}
		if err := errors.Join(os.Remove(files), os.Rename(files+"-away", files)); err != nil {
			t.Fatal(err)
		}
		if !s.after(time.Minute, b.Name) {
			t.Fatal("gone")
		}
		f, err := s.Blobs.Open(t.Context(), b.Name, b.SHA256, b.Size)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got := found(); len(got) != 1 || got[0] != finding.FilesDamaged { // the lost one
			t.Errorf("found %v", got)
		}
	})
}

// A configuration that named another place left all files behind.
func TestAPlaceIsNotTakenWhileFilesLieInTheState(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	db, end := statetest.Start(t, dir)
	b, err := db.Blobs.Stage(t.Context(), strings.NewReader(strings.Repeat("x", 20000)), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, `INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES ('a', '', '', '', '', '', 0, ?, 0, 0)`, b.Name)
	end()
	synctest.Test(t, func(t *testing.T) {
		s, end := share(t, dir, files)
		synctest.Wait()
		all := s.Blobs.Findings(t.Context())
		if len(all) != 1 || all[0].Name != finding.FilesAway || !strings.Contains(all[0].Remedy, "take state.files out") {
			t.Errorf("found %v", all)
		}
		end()
	})
	if left, err := os.ReadDir(files); err != nil || len(left) > 0 {
		t.Errorf("the place has %v, %v", left, err)
	}
	db = statetest.Open(t, dir)
	f, err := db.Blobs.Open(t.Context(), b.Name, b.SHA256, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// An empty place became that of two installations. Each had the other's files deleted after a week.
func TestTwoInstallationsTookOnePlace(t *testing.T) {
	files, dirs := t.TempDir(), []string{t.TempDir(), t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		first, end := share(t, dirs[0], files)
		defer end()
		second, end := share(t, dirs[1], files)
		defer end()
		time.Sleep(time.Minute)
		if found := first.Blobs.Findings(t.Context()); len(found) > 0 {
			t.Errorf("the first has %v", found)
		}
		if found := second.Blobs.Findings(t.Context()); len(found) != 1 || found[0].Name != finding.FilesAway || !strings.Contains(found[0].Cause, "another installation") {
			t.Errorf("the second has %v", found)
		}
	})
}

// frozen is a place whose first write is made only when the host goes on.
type frozen struct {
	blob.Place
	files string
	late  func() error
}

func (f *frozen) Put(ctx context.Context, name string, from *os.File, size int64) error {
	content, err := io.ReadAll(io.NewSectionReader(from, 0, size))
	if err != nil || f.late != nil {
		return f.Place.Put(ctx, name, from, size)
	}
	f.late = func() error { return os.WriteFile(filepath.Join(f.files, name), content, 0o600) }
	return context.DeadlineExceeded
}

// A host that was frozen while it took the place wrote another mark over that of the next owner.
func TestAFrozenHostMarkedThePlaceOfTheNextOwner(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	old := &frozen{Place: blob.NewDirectory(files), files: files}
	start := func(place blob.Place, running func(*state.DB)) {
		t.Helper()
		db, err := state.OpenAt(t.Context(), statetest.Spec(dir), place, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		running(db)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	start(old, func(*state.DB) {})
	start(blob.NewDirectory(files), func(*state.DB) {
		if err := old.late(); err != nil {
			t.Fatal(err)
		}
	})
	start(blob.NewDirectory(files), func(db *state.DB) {
		if found := db.Blobs.Findings(t.Context()); len(found) > 0 {
			t.Errorf("the next owner has %v", found)
		}
	})
}

// unlisted is a place whose names cannot be listed.
type unlisted struct {
	blob.Place
	lists int
}

func (u *unlisted) List(context.Context) iter.Seq2[string, error] {
	u.lists++
	return func(yield func(string, error) bool) { yield("", errors.New("too many")) }
}

// A place that could not be listed was listed four times a minute, and nothing in it was ever deleted.
func TestAPlaceThatCannotBeListedKeptAllFiles(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		place := &unlisted{Place: blob.NewDirectory(files)}
		s, run := shareOnly(t, dir, files, place)
		end := run()
		goes := s.make().Name
		s.record(goes)
		s.forget(goes)
		if s.after(2*time.Hour, goes) {
			t.Error("it stays for ever")
		}
		end()
		if place.lists < 3 || place.lists > 12 {
			t.Errorf("listed %d times in two hours", place.lists)
		}
	})
}
