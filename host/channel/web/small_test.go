package web_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/media"
)

// TestAKillLeavesBytesAndMessageTogether cuts the log off at every place of the way of
// small files: one by a member, one by the assistant, and both deleted.
func TestAKillLeavesBytesAndMessageTogether(t *testing.T) {
	statetest.SQLiteOnly(t, "it cuts off the log of the database file")
	opts := options(t.TempDir())
	opts.Quota, opts.Roll, opts.MaxUpload, opts.MaxFiles = 2500, true, 1000, 3
	s := start(t, opts)
	s.posted(s.upload(nil, attachment{"a.txt", make([]byte, 1000)}))
	for range 3 {
		s.send(channel.Message{Files: outgoing("b.txt", "text/plain", media.Document, make([]byte, 1000))})
	}
	for deadline := time.Now().Add(30 * time.Second); len(stored(t, opts.Dir)) != 2; {
		if time.Now().After(deadline) {
			t.Fatal("the oldest stay")
		}
	}
	seen := map[string]bool{}
	fstest.EachCut(t, filepath.Join(opts.Dir, "longshore.db"), func(path string) {
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var made bool
		var rows, names string
		if err := db.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'bytes'`).Scan(&made); err != nil || !made {
			t.Fatal(made, err)
		}
		if err := db.QueryRow(`SELECT (SELECT coalesce(group_concat(printf('%016x', id), ' '), '') FROM (SELECT id FROM bytes ORDER BY id)),
			(SELECT coalesce(group_concat(substr(blob, 1, 16), ' '), '') FROM (SELECT blob FROM page_message WHERE blob <> '' ORDER BY blob))`).Scan(&rows, &names); err != nil {
			t.Fatal(err)
		}
		if rows != names {
			t.Errorf("the bytes of %q are there, and messages of %q", rows, names)
		}
		seen[rows] = true
	})
	if len(seen) < 5 {
		t.Errorf("seen %v", seen)
	}
}
