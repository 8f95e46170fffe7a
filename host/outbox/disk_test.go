package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// large makes a content too large to be kept in the database.
func large(content string) string { return content + strings.Repeat(".", blob.Small) }

// blobs lists the files that the outbox keeps, and the rows of those in the database.
func blobs(t testing.TB, o *outbox.Outbox) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(o.Dir(), "files"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".marker" {
			names = append(names, e.Name())
		}
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.Dir(), "outbox.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows string
	if err := db.QueryRow(`SELECT coalesce(group_concat(printf('%016x', id), ' '), '') FROM bytes`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return append(names, strings.Fields(rows)...)
}

func TestSecondHostRefusesToStart(t *testing.T) {
	o := open(t, outbox.Options{})
	if _, err := outbox.Open(context.Background(), outbox.Options{Dir: o.Dir()}); !errors.Is(err, outbox.ErrLocked) {
		t.Errorf("a second host started: %v", err)
	}
	put(t, o, text("fake:a", "still works"))
}

func TestOnlyTheHostReadsTheOutbox(t *testing.T) {
	o := open(t, outbox.Options{Dir: filepath.Join(t.TempDir(), "outbox")})
	put(t, o, file(t, o, "fake:a", "x", "bytes"))
	err := filepath.WalkDir(o.Dir(), func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUnusableDatabaseNamesTheRemedy(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, path string)
		want  error
	}{
		{"no database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, outbox.ErrDamaged},
		{"a page overwritten", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			st, _ := f.Stat()
			for at := int64(100); at < st.Size(); at += 512 {
				if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 400)), at); err != nil {
					t.Fatal(err)
				}
			}
		}, outbox.ErrDamaged},
		{"the pages behind the schema overwritten", func(t *testing.T, path string) {
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			const page = 4096
			for at := int64(page); at < st.Size(); at += page {
				if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", page)), at); err != nil {
					t.Fatal(err)
				}
			}
		}, outbox.ErrDamaged},
		{"of a later version", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			// user_version stands at offset 60 of the header, big endian.
			if _, err := f.WriteAt([]byte{0, 0, 0, 99}, 60); err != nil {
				t.Fatal(err)
			}
		}, outbox.ErrNewer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			o, err := outbox.Open(context.Background(), outbox.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			put(t, o, text("fake:a", "x"))
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, filepath.Join(dir, "outbox.db"))
			if o, err = outbox.Open(context.Background(), outbox.Options{Dir: dir}); !errors.Is(err, tt.want) {
				t.Errorf("opened: %v", err)
			}
			if known, ok := errors.AsType[*store.Error](err); !ok || known.Remedy == "" {
				t.Errorf("no remedy: %v", err)
			}
			if err == nil {
				o.Close()
			}
		})
	}
}

func TestStartSweepsOrphansAndFailsWhatLostItsBytes(t *testing.T) {
	dir := t.TempDir()
	b := newBook()
	ch := &fake{name: "fake"}
	opts := outbox.Options{Dir: dir, Channels: []channel.Channel{ch}}
	o, err := outbox.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	b.o = o
	good, bad := file(t, o, "fake:a", "good", large("good")), file(t, o, "fake:a", "bad", large("bad"))
	put(t, o, bad, good)
	if _, err := o.Copy(context.Background(), strings.NewReader(large("orphan")), blob.Small+6); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "files", bad.Parts[0].Files[0].Blob)); err != nil {
		t.Fatal(err)
	}
	o = b.open(t, opts)
	if diff := cmp.Diff([]string{good.Parts[0].Files[0].Blob}, blobs(t, o)); diff != "" {
		t.Error(diff)
	}
	run(t, o)
	b.settled(t, good)
	d, err := o.Get(context.Background(), bad.Request)
	if err != nil || d.Parts[0].State != outbox.Failed || d.Parts[0].Code != "lost_bytes" || d.Parts[0].Hint == "" {
		t.Errorf("%+v, %v", d, err)
	}
	if texts := ch.texts(); len(texts) != 1 {
		t.Errorf("sent: %q", texts)
	}
}

// A file that the disk can never hold waited for ever, and all of its group behind it.
func TestAFileThatTheDiskCanNeverHoldWaitedForEver(t *testing.T) {
	o := open(t, outbox.Options{Settings: limits(outbox.Limits{FreeDisk: 1})})
	err := o.Room("a", outbox.Load{}, outbox.Load{Parts: 1, Bytes: 1 << 60})
	if r, full := refusal.Of(err), new(outbox.FullError); r == nil || r.Code != "file_too_large" || errors.As(err, &full) || !strings.Contains(r.Message, "disk can hold") {
		t.Errorf("%#v", err)
	}
}

func TestRoomNamesWhatIsFull(t *testing.T) {
	ch := &fake{name: "fake"}
	b := newBook()
	opts := outbox.Options{Dir: t.TempDir(), Channels: []channel.Channel{ch},
		Settings: limits(outbox.Limits{QuotaPending: 3, QuotaBytes: 100, FreeDisk: 1})}
	o, err := outbox.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	b.o = o
	a := file(t, o, "fake:a", "a", strings.Repeat("x", 60))
	words := text("fake:a", "b")
	put(t, o, a, words)
	disk, err := safefs.VolumeOf(opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		folder string
		ahead  outbox.Load
		parts  int
		bytes  int64
		code   string
	}{
		{"fits", a.Folder, outbox.Load{}, 1, 40, ""},
		{"too many", a.Folder, outbox.Load{}, 2, 0, "over_quota"},
		{"too many with those ahead", a.Folder, outbox.Load{Parts: 1}, 1, 0, "over_quota"},
		{"too large", a.Folder, outbox.Load{}, 1, 41, "over_quota"},
		{"too large with those ahead", "other", outbox.Load{Parts: 1, Bytes: 1}, 1, 100, "over_quota"},
		{"another group's", "other", outbox.Load{}, 3, 100, ""},
		{"alone it may exceed", "other", outbox.Load{}, 9, 1000, ""},
		{"larger than what is free", "other", outbox.Load{}, 1, int64(disk.Total) - 1, "disk_full"},
	}
	check := func(o *outbox.Outbox) {
		for _, tt := range tests {
			var full *outbox.FullError
			err := o.Room(tt.folder, tt.ahead, outbox.Load{Parts: tt.parts, Bytes: tt.bytes})
			if errors.As(err, &full) != (tt.code != "") || full != nil && (full.Code != tt.code || full.Hint == "" || strings.Contains(full.Message, "/")) {
				t.Errorf("%s: %#v", tt.name, err)
			}
		}
	}
	check(o)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = b.open(t, opts)
	check(o)
	stop := run(t, o)
	b.settled(t, a, words)
	stop()
	if err := o.Room(a.Folder, outbox.Load{}, outbox.Load{Parts: 3, Bytes: 100}); err != nil {
		t.Errorf("once all is sent: %v", err)
	}
}
