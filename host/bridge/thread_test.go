package bridge_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// TestAStampDecidesTheThreadWithinTheGroupsOwnChatOnly has requests bear stamps
// of turns that are the group's, another's and nobody's.
func TestAStampDecidesTheThreadWithinTheGroupsOwnChatOnly(t *testing.T) {
	s := newSite(t)
	s.turns.threads = map[string]string{"family/f1": "t1", "work/w1": "t2", "ops/o1": "t3", "family/": "running"}
	path := s.write("family", "a.txt", "a")
	s.write("ops", "a.txt", "a")
	stamped := func(r ipc.Request, turn string) ipc.Request { r.Turn = turn; return r }
	named := file(path)
	named.Thread = "another"
	elsewhere := file(path)
	elsewhere.Chat = "mem:work"
	for _, c := range []struct {
		what, folder, thread string
		r                    ipc.Request
		noted                bool
	}{
		{"its own turn", "family", "t1", stamped(file(path), "f1"), false},
		{"no stamp", "family", "running", file(path), false},
		{"another group's turn", "family", "", stamped(file(path), "w1"), true},
		{"a forged stamp", "family", "", stamped(file(path), strings.Repeat("x", 512)), true},
		{"a thread beside the stamp", "family", "another", stamped(named, "f1"), false},
		{"main's own chat", "ops", "t3", stamped(file(path), "o1"), false},
		{"main in another chat", "ops", "", stamped(elsewhere, "o1"), false},
		{"a text", "family", "t1", stamped(ipc.Request{Type: ipc.TypeMessage, Text: "x"}, "f1"), false},
	} {
		if v := s.handle(c.folder, c.r)[0]; !v.Accepted {
			t.Fatalf("%s: fate %+v", c.what, v)
		}
		all, err := s.outbox.List(t.Context(), records.Filter{})
		check(t, err)
		if got := all[0].Thread; got != c.thread {
			t.Errorf("%s: it goes to thread %q, want %q", c.what, got, c.thread)
		}
		if files := all[0].Parts[0].Files; len(files) > 0 && strings.Contains(files[0].Note, "turn") != c.noted {
			t.Errorf("%s: the note is %q", c.what, files[0].Note)
		}
	}
}

// Each request with a made-up stamp wrote a line into the host's log.
func TestForgedStampsDoNotFillTheLog(t *testing.T) {
	s := newSite(t)
	var log strings.Builder
	s.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.Bridge = bridge.New(s.opts)
	s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "x", Turn: "made up"}, ipc.Request{Type: ipc.TypeMessage, Text: "y", Turn: "made up"})
	if log.Len() > 0 {
		t.Errorf("the log has %s", log.String())
	}
}

// The words with which the host told one thread to wait looked as if the turn of
// another had sent them, which then was not tried again.
func TestTheHostsWordsInAnotherThreadAreNotTheTurns(t *testing.T) {
	s := newSiteOf(t, func(l *media.Limits) { l.Threads = true })
	since := time.Now().Add(-time.Second)
	check(t, s.Say(t.Context(), "family", "t2", "please wait", "one"))
	if s.SentSince("family", "t1", since) || !s.SentSince("family", "t2", since) {
		t.Error("the words count for the wrong thread")
	}
	if s.AskedSince("family", since) {
		t.Error("the words count as the assistant's")
	}
	s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "x", Thread: "t2"})
	if !s.SentSince("family", "t1", since) {
		t.Error("what the assistant sends may be any turn's")
	}
	if !s.AskedSince("family", since) || s.AskedSince("family", time.Now().Add(time.Second)) || s.AskedSince("ops", since) {
		t.Error("what the assistant sent does not count, or counts for another group or time")
	}
	if got := s.shown("mem:family", 2)[0]; got.Thread != "t2" {
		t.Errorf("the words are shown in thread %q", got.Thread)
	}
}

// TestALateFailureIsToldInTheThreadThatAsked, also if what failed was for another
// chat.
func TestALateFailureIsToldInTheThreadThatAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, refusing)
		s.turns.threads = map[string]string{"work/": "t3"}
		own, other := asked("family", "one"), asked("work", "two")
		own.Thread, other.Thread, other.Chat = "t1", "t1", "mem:family"
		check(t, s.outbox.Put(t.Context(), []records.Delivery{own, other}))
		stop := s.run(&s.turns)
		synctest.Wait()
		stop()
		for _, words := range s.turns.words {
			if !strings.HasPrefix(words, "family in t1: ") && !strings.HasPrefix(words, "work in t3: ") {
				t.Errorf("an assistant reads %q", words)
			}
		}
		if len(s.turns.words) != 2 {
			t.Errorf("the assistants read %q", s.turns.words)
		}
	})
}

// TestALateFailureIsToldToTheChatThatWishesSo has what failed be for the group's own
// chat, and for another one, which hears nothing.
func TestALateFailureIsToldToTheChatThatWishesSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, refusing)
		all := s.set.registry.All()
		for i := range all {
			all[i].Failures = groups.FailuresToChat
		}
		registry, err := groups.NewRegistry(all)
		check(t, err)
		s.set.registry = registry
		own, other := asked("family", "one"), asked("work", "two")
		own.Thread, other.Chat = "t1", "mem:family"
		check(t, s.outbox.Put(t.Context(), []records.Delivery{own, other}))
		stop := s.run(&s.turns)
		synctest.Wait()
		stop()
		ds, err := s.outbox.List(t.Context(), records.Filter{})
		check(t, err)
		var heard []string
		for _, d := range ds {
			if d.Request == "" {
				heard = append(heard, d.Folder+" in "+d.Thread+": "+d.Parts[0].Text)
			}
		}
		if len(heard) != 1 || !strings.HasPrefix(heard[0], "family in t1: This could not be sent: ") {
			t.Errorf("the chats hear %q", heard)
		}
	})
}
