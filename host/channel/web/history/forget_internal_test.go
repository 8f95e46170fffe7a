package history

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

const year = 365 * 24 * time.Hour

// put adds messages of that age to a chat.
func put(t *testing.T, db *state.DB, channel, chat string, count int, age time.Duration) {
	t.Helper()
	if _, err := db.Exec(t.Context(), `INSERT INTO page_message (channel, chat, id, key, author, sender, assistant, time, reply_to, quote, forwarded, status, file, blob, size, text, tree, short, poll)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT ?, ?, ? || CAST(i AS TEXT), '', '', 'Ada', 0, ?, '', '', '', 'delivered', '', '', 0, '', '', '', '' FROM n`,
		count, channel, chat, age.String(), time.Now().Add(-age).UnixMilli()); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, db *state.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The clock was set ahead for a moment, and nothing of any chat expired any more.
func TestOneMessageOfTheFutureKeptTheOldOnesOfAllChats(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	put(t, db, "web", "one", 1, -3*year)
	put(t, db, "web", "one", 3, 2*year)
	put(t, db, "web", "two", 5, 2*year)
	gone, more, err := New(db, "web").forget(t.Context(), Rule{Before: time.Now().Add(-year)})
	if len(gone) != 8 || more || err != nil {
		t.Errorf("%d of 8 messages that are two years old expire (more: %v, %v)", len(gone), more, err)
	}
	if n := count(t, db, `SELECT COUNT(*) FROM page_message`); n != 1 {
		t.Errorf("%d messages are left, want the one of the future", n)
	}
}

// Each look for expired messages read and sorted all messages of the channel, while nobody
// could write.
func TestALookForExpiredMessagesReadTheWholeChannelInTheWriter(t *testing.T) {
	statetest.SQLiteOnly(t, "it reads the plan of SQLite")
	db := statetest.Open(t, t.TempDir())
	for query, args := range map[string][]any{
		pickExpired: {"web", 0, 64},
		pickOldest:  {"web", "one", 64},
		`SELECT MIN(seq) FROM page_waiting WHERE channel = ? AND chat = ?`: {"web", "one"},
	} {
		rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(step, "TEMP B-TREE") || !strings.Contains(step, "INDEX page_") || !strings.Contains(step, "channel=? AND ") {
				t.Errorf("%s: %s", query, step)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	put(t, db, "web", "one", 3, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := db.Do(ctx, func(*state.Tx) error { // nobody else writes
		_, _, err := New(db, "web").forget(ctx, Rule{Before: time.Now().Add(-year)})
		return err
	}, nil); err != nil {
		t.Errorf("a look that finds nothing waits for the writer: %v", err)
	}
}

// A delivery that came again left the bytes of its small file, which no row named.
func TestARepeatedAnswerLeftTheBytesOfItsFile(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	for range 2 {
		b, err := db.Blobs.Stage(t.Context(), strings.NewReader("small"), 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &Message{ID: "one", Assistant: true, File: &File{ID: b.Name, Size: b.Size}, Bytes: b.Bytes}
		if blob.IsName(b.Name) || m.Bytes == nil {
			t.Fatalf("%+v is no small blob", b)
		}
		if err := New(db, "web").Answer(t.Context(), "family", []*Message{m}, func(*state.Tx) error { return nil }, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, db, `SELECT COUNT(*) FROM bytes`); n != 1 {
		t.Errorf("the bytes of %d files are stored, want 1", n)
	}
}

// A channel that was taken out of longshore.yaml left its messages for ever. One that was in use
// lately may come back, and may keep them all.
func TestMessagesOfAFormerChannelStayedForEver(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	for _, channel := range []string{"a", "former", "web", "z"} {
		put(t, db, channel, "family", 100, 2*year)
	}
	put(t, db, "former", "family", 1, 0)
	if _, err := ForgetFormer(t.Context(), db, []string{"web"}, time.Now().Add(-year), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for channel, want := range map[string]int{"a": 0, "former": 101, "web": 100, "z": 0} {
		if n := count(t, db, `SELECT COUNT(*) FROM page_message WHERE channel = ?`, channel); n != want {
			t.Errorf("%s has %d messages, want %d", channel, n, want)
		}
	}
}
