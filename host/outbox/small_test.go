package outbox_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/internal/fstest"

	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// bytesAndNames are the rows of bytes, and the rows that records name, each in order.
func bytesAndNames(t testing.TB, path string) (rows, names string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT coalesce(group_concat(printf('%016x', id), ' '), '') FROM (SELECT id FROM bytes ORDER BY id)`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	var all string
	if err := db.QueryRow(`SELECT coalesce(group_concat(blob, ' '), '') FROM part WHERE blob <> ''`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for name := range strings.FieldsSeq(all) {
		kept = append(kept, name[:16])
	}
	return rows, strings.Join(kept, " ")
}

// TestAKillLeavesBytesAndRecordTogether cuts the log off at every place of the way of
// small files: two accepted, one sent, one failed, tried again and dropped.
func TestAKillLeavesBytesAndRecordTogether(t *testing.T) {
	statetest.SQLiteOnly(t, "it cuts off the log of the database file")
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if m.Text == "bad" {
			return channel.Receipt{}, permanent
		}
		return channel.Receipt{ID: m.ID}, nil
	}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	good, bad := file(t, o, "fake:a", "good", "good"), file(t, o, "fake:a", "bad", "bad")
	put(t, o, good)
	put(t, o, bad)
	stop := run(t, o)
	b.settled(t, good, bad)
	stop()
	if err := o.Retry(t.Context(), bad.Key); err != nil {
		t.Fatal(err)
	}
	if err := o.Cancel(t.Context(), bad.Key); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	fstest.EachCut(t, filepath.Join(o.dir, "longshore.db"), func(path string) {
		rows, names := bytesAndNames(t, path)
		if rows != names {
			t.Errorf("the bytes of %q are there, and records of %q", rows, names)
		}
		seen[rows] = true
	})
	if len(seen) != 4 || len(blobs(t, o)) != 0 {
		t.Errorf("seen %v; in the end %v", seen, blobs(t, o))
	}
}

// TestChangedBytesDoNotPassForThoseThatWereAccepted: a channel sees what is on the disk,
// beside the hash of what was accepted.
func TestChangedBytesDoNotPassForThoseThatWereAccepted(t *testing.T) {
	var got []string
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		content, err := read(m.Files[0])
		got = append(got, content, m.Files[0].SHA256)
		return channel.Receipt{ID: m.ID}, err
	}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	d := file(t, o, "fake:a", "a.txt", "the bytes")
	put(t, o, d)
	execute(t, statetest.Raw(t, o.dir), `UPDATE bytes SET data = ?`, []byte("other ones"))
	run(t, o)
	b.settled(t, d)
	if diff := cmp.Diff([]string{"other ones", d.Parts[0].Files[0].SHA256}, got); diff != "" {
		t.Error(diff)
	}
}
