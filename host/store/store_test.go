package store_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/store"
)

func TestAnEmptyDirectoryIsAFirstStart(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"nothing":         func(string) error { return nil },
		"empty directory": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "files"), 0o700) },
		"an empty file and nothing else": func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "notes.db"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			s := specIn(state)
			must(t, prepare(s.Dir))
			before := tree(t, state)
			if there, err := store.Examine(t.Context(), s, true); there || err != nil {
				t.Errorf("examined: %v, %v", there, err)
			}
			if v, err := store.Look(t.Context(), s); v != nil || err != nil {
				t.Errorf("looked at: %v, %v", v, err)
			}
			if diff := cmp.Diff(before, tree(t, state)); diff != "" {
				t.Errorf("looking changed something:\n%s", diff)
			}
			db, closing, err := open(s)
			must(t, err)
			if !db.Made {
				t.Error("does not know that it was made")
			}
			must(t, closing())
			db, closing, err = open(s)
			must(t, err)
			if db.Made {
				t.Error("was made a second time")
			}
			must(t, closing())
		})
	}
}

// broken is one way in which a store must not be opened.
type broken struct {
	name  string
	spoil func(t *testing.T, s store.Spec)
	kind  error
	words string
}

func remove(names ...string) func(*testing.T, store.Spec) {
	return func(t *testing.T, s store.Spec) {
		for _, name := range names {
			must(t, os.RemoveAll(filepath.Join(s.Dir, name)))
		}
	}
}

func write(name, data string) func(*testing.T, store.Spec) {
	return func(t *testing.T, s store.Spec) {
		must(t, os.WriteFile(filepath.Join(s.Dir, name), []byte(data), 0o600))
	}
}

func forget(t *testing.T, s store.Spec) { must(t, os.RemoveAll(s.Home.Installation)) }

func both(all ...func(*testing.T, store.Spec)) func(*testing.T, store.Spec) {
	return func(t *testing.T, s store.Spec) {
		for _, f := range all {
			f(t, s)
		}
	}
}

// stranger makes the same store in another installation.
func stranger(t *testing.T, name string) store.Spec {
	other, _ := made(t)
	if name != other.Name {
		other = specIn(t.TempDir())
		other.Name = name
		_, closing, err := open(other)
		must(t, err, closing())
	}
	return other
}

func brokenStores() []broken {
	return []broken{
		{"missing, its files are there", both(remove("notes.db", "notes.marker"), forget), store.ErrMissing, "files (1 files)"},
		{"missing, its log is there", both(remove("notes.db", "notes.marker", "files"), forget, write("notes.db-wal", "x")), store.ErrMissing, "notes.db-wal"},
		{"missing, its marker is there", both(remove("notes.db", "files"), forget), store.ErrMissing, "its marker"},
		{"missing with its directory", func(t *testing.T, s store.Spec) { must(t, os.RemoveAll(s.Dir)) }, store.ErrMissing, "not mounted"},
		{"its files are missing", remove("files"), store.ErrMissing, "files of the notes"},
		{"its files' disk is not mounted", both(remove("files"), emptyFiles), store.ErrMissing, "files of the notes"},
		{"another disk is mounted for its files", both(remove("files"), emptyFiles, func(t *testing.T, s store.Spec) {
			take(t, s, stranger(t, "notes"), "files/notes.marker")
		}), store.ErrMissing, "another directory"},
		{"its database is restored alone", remove("files", "notes.marker"), store.ErrMissing, "files of the notes"},
		{"a file in the place of the files", both(remove("files"), write("files", "x")), store.ErrUnreadable, "not a directory"},
		{"a file in the place of its directory", func(t *testing.T, s store.Spec) {
			must(t, os.RemoveAll(s.Dir), os.WriteFile(s.Dir, nil, 0o600))
		}, store.ErrUnreadable, "not a directory"},
		{"a directory in the place of the lock", both(remove("lock"), func(t *testing.T, s store.Spec) {
			must(t, os.Mkdir(filepath.Join(s.Dir, s.Lock), 0o700))
		}), store.ErrUnreadable, "not a file"},
		{"empty, its files are there", both(remove("notes.marker"), forget, write("notes.db", "")), store.ErrMissing, "is empty"},
		{"empty, its marker is there", both(remove("files"), forget, write("notes.db", "")), store.ErrMissing, "is empty"},
		{"no database", write("notes.db", strings.Repeat("no database ", 999)), store.ErrDamaged, "damaged"},
		{"shorter than a header", write("notes.db", "SQLite"), store.ErrDamaged, "damaged"},
		{"cut off", func(t *testing.T, s store.Spec) { must(t, os.Truncate(filepath.Join(s.Dir, s.File), 5000)) }, store.ErrDamaged, "damaged"},
		{"overwritten", func(t *testing.T, s store.Spec) { overwrite(t, s, 100, strings.Repeat("\xa5", 8000)) }, store.ErrDamaged, "damaged"},
		{"a directory", both(remove("notes.db"), func(t *testing.T, s store.Spec) {
			must(t, os.Mkdir(filepath.Join(s.Dir, s.File), 0o700))
		}), store.ErrDamaged, "is not a file"},
		{"newer", func(t *testing.T, s store.Spec) {
			overwrite(t, s, 60, string(binary.BigEndian.AppendUint32(nil, 99))) // user_version: sqlite.org/fileformat.html
		}, store.ErrNewer, "newer longshore"},
		{"newer by its marker", func(t *testing.T, s store.Spec) {
			data, err := os.ReadFile(filepath.Join(s.Dir, "notes.marker"))
			must(t, err)
			write("notes.marker", strings.Replace(string(data), `"version":1`, `"version":9`, 1))(t, s)
		}, store.ErrNewer, "newer longshore"},
		{"of another installation", func(t *testing.T, s store.Spec) { take(t, s, stranger(t, "notes"), "notes.db") }, store.ErrForeign, "another installation"},
		{"of another installation, and no marker", both(remove("notes.marker"), func(t *testing.T, s store.Spec) {
			take(t, s, stranger(t, "notes"), "notes.db")
		}), store.ErrForeign, "another installation"},
		{"directory of another installation", func(t *testing.T, s store.Spec) {
			take(t, s, stranger(t, "notes"), "notes.db", "notes.marker")
		}, store.ErrForeign, "another installation"},
		{"of another store", func(t *testing.T, s store.Spec) { take(t, s, stranger(t, "diary"), "notes.db") }, store.ErrForeign, `the store "diary"`},
		{"marker of no form", write("notes.marker", "{"), store.ErrMarker, "marker"},
		{"marker that is empty", write("notes.marker", ""), store.ErrMarker, "marker"},
		{"marker that is too large", write("notes.marker", strings.Repeat(" ", 1<<20)), store.ErrMarker, "small"},
		{"installation of no form", func(t *testing.T, s store.Spec) {
			must(t, os.WriteFile(filepath.Join(s.Home.Installation, "id"), []byte("me"), 0o600))
		}, store.ErrMarker, "id"},
	}
}

func emptyFiles(t *testing.T, s store.Spec) {
	must(t, os.Mkdir(filepath.Join(s.Dir, "files"), 0o700))
}

// A file that waited was given up for good, and its bytes were swept, because the disk of
// the files was not mounted at a start: the empty mount point was taken for their directory.
func TestADiskOfFilesThatWasNotMountedEndedWhatWaits(t *testing.T) {
	s, _ := made(t)
	files, disk := filepath.Join(s.Dir, "files"), filepath.Join(s.Dir, "disk")
	must(t, os.Rename(files, disk), os.Mkdir(files, 0o700))
	if err := store.Check(t.Context(), s); !errors.Is(err, store.ErrMissing) {
		t.Errorf("the empty mount point: %v", err)
	}
	must(t, os.Remove(files), os.Rename(disk, files))
	notes(t, s) // opens it again
	must(t, os.RemoveAll(files), os.Mkdir(files, 0o700))
	marker, err := os.ReadFile(filepath.Join(s.Dir, "notes.marker"))
	must(t, err, os.WriteFile(filepath.Join(files, "notes.marker"), marker, 0o600)) // the remedy of files that are lost
	notes(t, s)
}

// A store of a release before the files had a marker gets it at its next opening.
func TestTheFilesOfAnOlderReleaseGetTheirMarker(t *testing.T) {
	s, _ := made(t)
	data, err := os.ReadFile(filepath.Join(s.Dir, "notes.marker"))
	must(t, err)
	both(remove("files/notes.marker"), write("notes.marker", strings.Replace(string(data), `,"files":true`, "", 1)))(t, s)
	notes(t, s)
	if now, err := os.ReadFile(filepath.Join(s.Dir, "files", "notes.marker")); err != nil || string(now) != string(data) {
		t.Errorf("%s, %v", now, err)
	}
}

func overwrite(t *testing.T, s store.Spec, at int64, data string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.Dir, s.File), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte(data), at)
	must(t, err, f.Close())
}

// take puts files of another store in the place of this one's.
func take(t *testing.T, s, from store.Spec, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from.Dir, name))
		must(t, err, os.WriteFile(filepath.Join(s.Dir, name), data, 0o600))
	}
}

// TestABrokenStoreIsRefusedWithARemedyAndLosesNothing: a store whose database
// was missing or empty was made anew, and then swept.
func TestABrokenStoreIsRefusedWithARemedyAndLosesNothing(t *testing.T) {
	for _, tt := range brokenStores() {
		t.Run(tt.name, func(t *testing.T) {
			s, state := made(t)
			tt.spoil(t, s)
			before := tree(t, state)
			check := func(how string, err error) {
				t.Helper()
				var known *store.Error
				if !errors.As(err, &known) || !errors.Is(err, tt.kind) || !strings.Contains(known.Message, tt.words) || known.Remedy == "" {
					t.Errorf("%s: %v", how, err)
				}
			}
			_, err := store.Examine(t.Context(), s, true)
			check("examined", err)
			_, err = store.Look(t.Context(), s)
			check("looked at", err)
			if diff := cmp.Diff(before, tree(t, state)); diff != "" {
				t.Errorf("looking changed something:\n%s", diff)
			}
			_, _, err = open(s)
			check("opened", err)
			path := filepath.Join(s.Dir, s.File)
			if was, now := before[path], tree(t, state)[path]; was != now {
				t.Errorf("opening it changed the database: %s, before %s", now, was)
			}
		})
	}
}

func TestAStoreOfAReleaseWithoutMarkersIsTakenIn(t *testing.T) {
	s, state := made(t)
	db, closing, err := open(s)
	must(t, err)
	_, err = db.Exec(`DROP TABLE longshore_store`)
	must(t, err, closing())
	both(remove("notes.marker", "lock"), forget)(t, s)
	before := tree(t, state)
	if there, err := store.Examine(t.Context(), s, true); !there || err != nil {
		t.Errorf("examined: %v, %v", there, err)
	}
	if diff := cmp.Diff(before, tree(t, state)); diff != "" {
		t.Errorf("looking changed something:\n%s", diff)
	}
	if n := notes(t, s); n != 1 {
		t.Errorf("%d notes", n)
	}
	remove("notes.db")(t, s) // it has its marker now
	if _, _, err := open(s); !errors.Is(err, store.ErrMissing) {
		t.Error(err)
	}
}

// TestALostMarkerIsWrittenAgain: each of the files that say whose a store is
// may be lost alone, without the store being lost with it.
func TestALostMarkerIsWrittenAgain(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, store.Spec){
		"marker": remove("notes.marker"), "installation": forget, "both": both(remove("notes.marker"), forget),
	} {
		s, state := made(t)
		want := tree(t, state)
		lose(t, s)
		if n := notes(t, s); n != 1 {
			t.Errorf("%s: %d notes", name, n)
		}
		if got := tree(t, state); len(got) != len(want) {
			t.Errorf("%s: %v", name, cmp.Diff(want, got))
		}
		if n := notes(t, s); n != 1 {
			t.Errorf("%s: %d notes", name, n)
		}
	}
}
