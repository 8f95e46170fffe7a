package turns_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// sends is a member's message with a file. claimed is its size by the member's
// word.
func (w *world) sends(id, name, body string, claimed int64) {
	w.t.Helper()
	a := w.lay(name, body)
	a.Size = claimed
	check(w.t, w.m.Receive(context.Background(), "family", channel.Inbound{
		ID: id, Chat: groups.JID("web:family"), From: "Ann", Text: "take this", Files: []channel.Attachment{a},
	}))
}

// A member filled the host's disk through a group's inbox, which had no bound.
func TestAFullInboxTakesNoMoreAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) {
			o.Limits.Inbox = 1000
		})
		inbox := filepath.Join(w.state, "groups", "family", "inbox")
		check(t, os.MkdirAll(inbox, 0o755))
		check(t, os.WriteFile(filepath.Join(inbox, "own.txt"), make([]byte, 300), 0o644))
		w.sends("1", "a.txt", strings.Repeat("a", 600), 600)
		w.sends("2", "b.txt", strings.Repeat("b", 101), 101)
		w.sends("3", "liar.txt", strings.Repeat("c", 5000), 1)
		w.sends("4", "d.txt", strings.Repeat("d", 100), 100)
		w.run()
		a := w.runtime.next()
		prompt := a.input.Prompt + strings.Join(a.reads(), "")
		names, err := os.ReadDir(inbox)
		check(t, err)
		var got []string
		for _, n := range names {
			got = append(got, n.Name())
		}
		if s := strings.Join(got, " "); s != "a.txt d.txt own.txt" {
			t.Errorf("the inbox holds %s", s)
		}
		if n := strings.Count(prompt, "remove files from it and ask the member to send this one again"); n != 2 {
			t.Errorf("%d files were refused with words in %s", n, prompt)
		}
		// What the assistant removes makes room.
		check(t, os.Remove(filepath.Join(inbox, "a.txt")))
		w.sends("5", "e.txt", strings.Repeat("e", 600), 600)
		synctest.Wait()
		if _, err := os.Stat(filepath.Join(inbox, "e.txt")); err != nil {
			t.Error(err)
		}
	})
}

// TestAnInboxIsCountedOnceAMinute for a page that asks every few seconds.
func TestAnInboxIsCountedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(*options) {})
		w.sends("1", "a.txt", "aaaa", 4)
		w.run()
		w.runtime.next()
		used := func(want int64) {
			t.Helper()
			if got := w.m.InboxUse("family"); got != want {
				t.Errorf("the inbox has %d bytes, want %d", got, want)
			}
		}
		used(4)
		check(t, os.WriteFile(filepath.Join(w.state, "groups", "family", "inbox", "own.txt"), make([]byte, 300), 0o644))
		time.Sleep(time.Minute - time.Nanosecond) // of the bubble's clock
		used(4)
		time.Sleep(time.Nanosecond)
		used(304)
		if got := w.m.InboxUse("nobody"); got != 0 {
			t.Errorf("a group that is not there has %d bytes", got)
		}
	})
}

// Room on the disk was asked for by the size that a member claims.
func TestRoomIsAskedForAsBytesCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int64
		full := false
		w := newWorld(t, func(o *options) {
			o.Disk = disk(func(n int64) (func(), error) {
				if full {
					return nil, errors.New("2 GB of temporary space are not to be had in /var/lib/host")
				}
				asked += n
				return func() {}, nil
			})
		})
		w.run()
		w.sends("1", "huge.txt", "few bytes", 90<<20)
		a := w.runtime.next()
		if asked != 1<<20 {
			t.Errorf("%d bytes were asked for", asked)
		}
		w.sends("2", "small.txt", strings.Repeat("x", 5<<20), 1)
		synctest.Wait()
		if asked != 1<<20+6<<20 {
			t.Errorf("%d bytes were asked for", asked)
		}
		a.reads()
		full = true
		w.sends("3", "late.txt", "bytes", 5)
		time.Sleep(time.Minute)
		a.says("thanks")
		a.reads()
		time.Sleep(time.Hour) // until no attempt is left
		a.exit(nil)
		if _, err := os.Stat(filepath.Join(w.state, "groups", "family", "inbox", "late.txt")); err == nil {
			t.Error("a file was kept without room")
		}
		var last string
		check(t, w.db.QueryRow(`SELECT body FROM inbound_message WHERE done = 0 ORDER BY id DESC LIMIT 1`).Scan(&last))
		has(t, last, "the host's disk is full")
		if strings.Contains(last, "/var/lib/host") {
			t.Error("the record names a host path")
		}
	})
}
