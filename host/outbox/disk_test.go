package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// large makes a content too large to be kept in the database.
func large(content string) string { return content + strings.Repeat(".", blob.Small) }

// blobs lists the files that the outbox keeps, and the rows of those in the database.
func blobs(t testing.TB, o *box) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(o.dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".marker" {
			names = append(names, e.Name())
		}
	}
	db := statetest.Raw(t, o.dir)
	rows, err := db.Query(`SELECT id FROM bytes`)
	ids, err := state.All(rows, err, state.One[int64])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		names = append(names, fmt.Sprintf("%016x", id))
	}
	return names
}

func TestOnlyTheHostReadsTheOutbox(t *testing.T) {
	o := openAt(t, filepath.Join(t.TempDir(), "state"), outbox.Options{})
	put(t, o, file(t, o, "fake:a", "x", "bytes"))
	err := filepath.WalkDir(o.dir, func(path string, e os.DirEntry, err error) error {
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

func TestStartSweepsOrphansAndFailsWhatLostItsBytes(t *testing.T) {
	dir := t.TempDir()
	b := newBook()
	ch := &fake{name: "fake"}
	opts := outbox.Options{Channels: []channel.Channel{ch}}
	o := openAt(t, dir, opts)
	b.o = o
	good, bad := file(t, o, "fake:a", "good", large("good")), file(t, o, "fake:a", "bad", large("bad"))
	put(t, o, bad, good)
	if _, err := o.Copy(context.Background(), strings.NewReader(large("orphan")), blob.Small+6); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "blobs", bad.Parts[0].Files[0].Blob)); err != nil {
		t.Fatal(err)
	}
	o = b.openAt(t, dir, opts)
	if diff := cmp.Diff([]string{good.Parts[0].Files[0].Blob}, blobs(t, o)); diff != "" {
		t.Error(diff)
	}
	run(t, o)
	b.settled(t, good)
	d, err := o.Get(context.Background(), bad.Request)
	if err != nil || d.Parts[0].State != records.Failed || d.Parts[0].Code != "lost_bytes" || d.Parts[0].Hint == "" {
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
	dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch},
		Settings: limits(outbox.Limits{QuotaPending: 3, QuotaBytes: 100, FreeDisk: 1})}
	o := openAt(t, dir, opts)
	b.o = o
	a := file(t, o, "fake:a", "a", strings.Repeat("x", 60))
	words := text("fake:a", "b")
	put(t, o, a, words)
	disk, err := safefs.VolumeOf(dir)
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
	check := func(o *box) {
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
	o = b.openAt(t, dir, opts)
	check(o)
	stop := run(t, o)
	b.settled(t, a, words)
	stop()
	if err := o.Room(a.Folder, outbox.Load{}, outbox.Load{Parts: 3, Bytes: 100}); err != nil {
		t.Errorf("once all is sent: %v", err)
	}
}
