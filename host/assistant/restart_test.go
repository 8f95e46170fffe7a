package assistant_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/channel"
)

// In each of these the host is killed at a moment, and the next one finds the
// disk as it was then.

func TestKilledBeforeTheMessageWasHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.write("family", "1", "hello")
		w = w.restart()
		w.run()
		has(t, w.runtime.next().input.Prompt, "hello")
	})
}

func TestKilledInATurnThatHadSentNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "first")
		a := w.runtime.next()
		w.write("family", "2", "second")
		synctest.Wait()
		a.reads()
		time.Sleep(time.Second)
		next := w.restart()
		next.run()
		b := next.runtime.next()
		has(t, b.input.Prompt, "first", "second")
		b.says("hi")
		if diff := cmp.Diff([]string{"hi"}, next.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKilledInATurnThatHadSentSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "first")
		w.runtime.next()
		time.Sleep(time.Second)
		w.toolSends()
		w.write("family", "2", "second") // lies unread in input/
		synctest.Wait()
		var told []string
		for range 2 { // killed again right after the chat was told: still told once
			next := w.restart()
			next.run()
			b := next.runtime.next()
			has(t, b.input.Prompt, "second")
			if len(b.reads()) != 0 {
				t.Error("the follow-up is there twice")
			}
			told = append(told, next.texts()...)
			if n := next.kept("family"); n != 1 {
				t.Errorf("%d messages are on disk", n)
			}
		}
		if diff := cmp.Diff([]string{interrupted}, told); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKilledWithARequestInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "send me a file")
		w.runtime.next()
		request := filepath.Join(w.layout().IPC("family", "messages"), "r.json")
		check(t, os.WriteFile(request, []byte("{}"), 0o644))
		check(t, os.Chtimes(request, time.Now(), time.Now())) // of the bubble's time
		next := w.restart()
		copied := filepath.Join(next.layout().IPC("family", "messages"), "r.json")
		check(t, os.Chtimes(copied, time.Now(), time.Now()))
		next.run()
		if next.runtime.next() != nil {
			t.Error("the turn was run again, and the file would be sent twice")
		}
		if diff := cmp.Diff([]string{interrupted}, next.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKilledAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		w.runtime.next().says("hi")
		next := w.restart()
		next.run()
		time.Sleep(time.Hour)
		if next.runtime.next() != nil {
			t.Error("the turn was run again")
		}
		if diff := cmp.Diff([]string{"hi"}, next.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKilledBetweenTheEndOfATurnAndItsClearingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		names, err := filepath.Glob(filepath.Join(w.state, "inbound", "family", "*-*.json"))
		check(t, err)
		record, err := os.ReadFile(names[0])
		check(t, err)
		a.says("hi")
		check(t, os.WriteFile(names[0], record, 0o600)) // as if it had not been removed yet
		next := w.restart()
		next.run()
		if next.runtime.next() != nil || next.kept("family") != 0 {
			t.Error("the message was taken up again")
		}
	})
}

func TestATurnThatKillsTheHostIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.write("family", "1", "hello")
		starts := 0
		for range 6 {
			w.run()
			if w.runtime.next() != nil {
				starts++
			}
			w = w.restart()
			time.Sleep(time.Minute)
		}
		if starts != 3 {
			t.Errorf("started %d times", starts)
		}
		if diff := cmp.Diff([]string{gaveUp}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBrokenFilesOnDiskStopNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.write("family", "1", "hello")
		dir := filepath.Join(w.state, "inbound", "family")
		for name, content := range map[string]string{
			"turn.json": "{", "00000000000000000001-aaaaaaaa.json": `{"kind":`, "seen": "torn", ".x.json-1.tmp": "half",
		} {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		w = w.restart()
		w.run()
		a := w.runtime.next()
		has(t, a.input.Prompt, "hello")
		a.says("hi")
		if w = w.restart(); w.kept("family") != 0 {
			t.Error("the message is still there")
		}
		w.write("family", "1", "hello") // known in spite of the torn file
		if w.kept("family") != 0 {
			t.Error("taken twice")
		}
	})
}

// A start deleted and renamed files in a group's directory that the host had not made, also
// behind a link.
func TestAStartTouchedFilesThatAreNotTheHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.write("family", "1", "hello")
		dir := filepath.Join(w.state, "inbound", "family")
		foreign := []string{"upload-123.tmp", "photo.json", "turn-by-turn", "wanted/note.json", "wanted/a-1.tmp"}
		check(t, os.MkdirAll(filepath.Join(dir, "wanted"), 0o700))
		for _, name := range foreign {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600))
		}
		w = w.restart()
		for _, name := range foreign {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "{" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		check(t, os.Rename(dir, dir+"-elsewhere"))
		check(t, os.Symlink(dir+"-elsewhere", dir))
		if err := assistant.Examine(filepath.Dir(dir), "family"); err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("a link: %v", err)
		}
	})
}

func TestMessagesAreTheHostsAlone(t *testing.T) {
	w := newWorld(t, nil)
	w.write("family", "1", "secret")
	for name, want := range map[string]os.FileMode{"inbound": 0o700, "inbound/family": 0o700} {
		info, err := os.Stat(filepath.Join(w.state, name))
		check(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// Two members' messages under one id were one, and so were those of two accounts
// in a chat of one name.
func TestAnIDIsItsSendersAndItsChannelsOwn(t *testing.T) {
	w := newWorld(t, nil)
	receive := func(id, sender string) {
		t.Helper()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: id, Chat: "web:family", Sender: sender, Text: "hello"}))
	}
	keep := func(want int, what string) {
		t.Helper()
		if got := w.kept("family"); got != want {
			t.Errorf("%s: %d messages are on disk, want %d", what, got, want)
		}
	}
	receive("1", "ann")
	receive("1", "ben")
	keep(2, "two senders")
	receive("1", "ben")
	keep(2, "brought again")
	moved := slices.Clone(w.groups)
	for i := range moved {
		moved[i].Channel = "web-two"
	}
	w.configure(moved...)
	receive("1", "ann")
	keep(3, "another account")

	seen := filepath.Join(w.state, "inbound", "family", "seen")
	old := sha256.Sum256([]byte("web:family\x002")) // as the program before noted an id
	check(t, os.WriteFile(seen, fmt.Appendf(nil, "%x\n", old[:16]), 0o600))
	w = w.restart()
	receive("2", "ann")
	keep(3, "ended before the host was new")
}
