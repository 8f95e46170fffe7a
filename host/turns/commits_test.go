package turns_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// A host is killed, or its machine loses its power, between any two commits of a member's
// message: its channel's entry, the hand-over, the file that it fetched, the turn, the answer, the
// end. What the platform was not told that the host has, it brings again. Either the channel has
// the message or the assistant: the hand-over was two commits, and a kill between them left it
// with both.
func TestKilledBetweenAnyTwoCommitsOfAMessage(t *testing.T) {
	statetest.SQLiteOnly(t, "it cuts off the log of the database file")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.outbox = true
		_, err := w.db.Exec(t.Context(), `CREATE TABLE said (key TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL)`)
		check(t, err)
		ask := channel.Inbound{ID: "1", Chat: groups.JID("web:family"), From: "Ann", Text: "read this", Time: time.Now(), Files: []channel.Attachment{w.lay("report.txt", "bytes")}}
		w.journals(ask)
		w.run()
		a := w.runtime.next()
		time.Sleep(time.Second)
		a.says("forty-two")
		time.Sleep(time.Second)
		log, ends := commits(t, filepath.Join(w.state, "longshore.db-wal"))
		if len(ends) < 7 {
			t.Fatalf("%d commits", len(ends))
		}
		for i, end := range ends {
			next := w.cut(log[:end])
			if i == 0 {
				continue // without the table said
			}
			said := next.texts()
			if n := next.count(`SELECT (SELECT COUNT(*) FROM journal_inbound WHERE state <> 'done') + (SELECT COUNT(*) FROM inbound_message)`); n != 1 && i > 1 {
				t.Errorf("killed after commit %d: %d have the message", i, n)
			}
			next.journals(ask)
			next.run()
			turns := 0
			for b := next.runtime.next(); b != nil; b = next.runtime.next() {
				turns++
				has(t, b.input.Prompt, "read this")
				b.says("forty-two")
				b.exit(nil)
			}
			synctest.Wait()
			again := len(said) == 0
			if n := strings.Count(strings.Join(next.texts(), " "), "forty-two"); n != 1 || again != (turns == 1) || turns > 1 {
				t.Errorf("killed after commit %d of %d with %q said: %d turns, and then %q", i, len(ends), said, turns, next.texts())
			}
			// A message does not wait again for its file after a start: then a notice waits for the next turn.
			if n := next.count(`SELECT COUNT(*) FROM inbound_message WHERE done = 0 AND body NOT LIKE '%now lies in the inbox%'`); n != 0 ||
				next.wanted("family") != 0 || next.count(`SELECT COUNT(*) FROM turn`) != 0 {
				t.Errorf("killed after commit %d: something is left", i)
			}
		}
	})
}

// journals has a channel's journal keep a member's message, which may be there already, and give the
// Manager what it holds until the test ends.
func (w *world) journals(in channel.Inbound) {
	w.t.Helper()
	ctx, end := context.WithCancel(w.t.Context())
	j, err := journal.Open(ctx, w.db, "slack", "slack", journal.Options{})
	check(w.t, err)
	check(w.t, j.Keep(ctx, journal.Inbound{Chat: in.Chat, ID: in.ID, Info: []byte{}, Body: []byte{}, Received: in.Time}))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.Hand(ctx, host{w}, func(ctx context.Context, to channel.Inbox, _ journal.Inbound) error { return to.Receive(ctx, in) })
	}()
	w.t.Cleanup(func() { end(); <-ended })
	synctest.Wait()
}

// Receive and Report implement channel.Inbox for the chat of the group family.
func (h host) Receive(ctx context.Context, in channel.Inbound) error {
	return h.m.Receive(ctx, "family", in)
}

func (host) Report(context.Context, groups.JID, string, channel.State) {}

// commits returns SQLite's log, and at which byte each commit ends: a frame whose head has
// the size of the database.
func commits(t *testing.T, file string) (log []byte, ends []int) {
	t.Helper()
	log, err := os.ReadFile(file)
	check(t, err)
	const head, frameHead = 32, 24
	frame := frameHead + int(binary.BigEndian.Uint32(log[8:]))
	for at := head; at+frame <= len(log); at += frame {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			ends = append(ends, at+frame)
		}
	}
	return log, ends
}

// cut opens a Manager on the disk as it was when the state's log had these bytes.
func (w *world) cut(log []byte) *world {
	w.t.Helper()
	next := &world{
		t: w.t, state: filepath.Join(w.t.TempDir(), "state"), groups: w.groups, options: w.options, outbox: true,
		runtime: &stage{started: make(chan *actor, 100)}, keys: map[string]bool{}, shelf: w.shelf,
	}
	check(w.t, os.CopyFS(next.state, os.DirFS(w.state)))
	check(w.t, os.Remove(filepath.Join(next.state, "longshore.db-shm")))
	check(w.t, os.WriteFile(filepath.Join(next.state, "longshore.db-wal"), log, 0o600))
	next.db, next.close = statetest.Start(w.t, next.state)
	defer next.open()
	rows, err := next.db.Query(`SELECT text, key, at FROM said ORDER BY at`)
	if err != nil {
		return next // which was not made yet
	}
	defer rows.Close()
	for rows.Next() {
		s := said{Folder: "family"}
		var at int64
		check(w.t, rows.Scan(&s.Text, &s.key, &at))
		s.at = time.Unix(0, at)
		next.said, next.keys[s.key] = append(next.said, s), true
	}
	check(w.t, rows.Err())
	return next
}

// putOut keeps what is said in the state, as the outbox does.
func (w *world) putOut(s said) error {
	_, err := w.db.Exec(context.Background(), `INSERT INTO said (key, text, at) VALUES (?, ?, ?)`, s.key, s.Text, s.at.UnixNano())
	return err
}

// entry is a channel's entry that counts how often it was ended, or refuses.
type entry struct {
	ended   int
	refuses error
}

func (e *entry) Done(*state.Tx) error {
	e.ended++
	return e.refuses
}

// TestAStopWasKeptInTwoCommits: the order's, and then that of the channel's entry.
func TestAStopWasKeptInTwoCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		in := channel.Inbound{Chat: "web:family", From: "Ann", Time: time.Now()}
		give := func(id, text string, kind channel.Kind, e *entry) error {
			in.ID, in.Text, in.Kind, in.Target, in.Entry = id, text, kind, "1", e
			return w.m.Receive(t.Context(), "family", in)
		}
		full := &entry{refuses: errors.New("the disk is full")}
		if err := give("1", "hello", channel.KindMessage, full); !errors.Is(err, full.refuses) || w.count(`SELECT COUNT(*) FROM inbound_message`) != 0 {
			t.Errorf("an entry that did not end left %d messages, %v", w.count(`SELECT COUNT(*) FROM inbound_message`), err)
		}
		for _, c := range []struct {
			id, text string
			kind     channel.Kind
			want     int
		}{
			{"1", "hello", channel.KindMessage, 1}, {"1", "hello", channel.KindMessage, 0}, {"2", "hullo", channel.KindEdit, 1},
			{"3", "", channel.KindMembership, 0}, {"4", "/stop", channel.KindMessage, 1},
		} {
			var e entry
			if err := give(c.id, c.text, c.kind, &e); err != nil || e.ended != c.want {
				t.Errorf("%s %q ended its entry %d times, %v", c.kind, c.text, e.ended, err)
			}
		}
	})
}
