package turns_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/ipc"
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
			t.Errorf("%s: %d messages are kept, want %d", what, got, want)
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
}

// TestAFollowUpThatMayHaveBeenReadWasRunAgain: an assistant that shares no directory had sent
// something for a follow-up, and nothing had said that the follow-up had been read. The next
// session, or the next host, took it for unread.
func TestAFollowUpThatMayHaveBeenReadWasRunAgain(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for _, sent := range []bool{false, true} {
			t.Run(fmt.Sprintf("host killed %t, sent %t", killed, sent), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, nil)
					w.run()
					w.write("family", "1", "first")
					a := w.runtime.next()
					a.says("answer to the first")
					time.Sleep(time.Second)
					w.write("family", "2", "second")
					synctest.Wait()
					for _, name := range a.lie() {
						check(t, os.Rename(filepath.Join(a.inputs(), name), filepath.Join(a.inputs(), name+ipc.HandedSuffix)))
					}
					time.Sleep(time.Second)
					want := []string{"answer to the first", interrupted}
					if sent {
						w.toolSends()
					}
					if killed {
						w = w.restart()
						w.run()
					} else {
						a.exit(runtime.ErrLost)
					}
					time.Sleep(time.Minute)
					b := w.runtime.next()
					switch {
					case sent && b != nil:
						t.Error("the turn was run again")
					case !sent:
						has(t, b.input.Prompt, "second")
						if left := b.lie(); len(left) > 0 {
							t.Errorf("the next assistant finds %v", left)
						}
						if want = []string{"answer to the first", tryingAgain}; killed {
							want = want[:1]
						}
					}
					equal(t, "told", w.texts(), want)
				})
			})
		}
	}
}

// TestATurnRanAgainWhileItsRequestWentFromTheQueueIntoTheOutbox: the outbox was asked before the
// queue was looked at, and the request was recorded and unlinked in between. So neither had it.
func TestATurnRanAgainWhileItsRequestWentFromTheQueueIntoTheOutbox(t *testing.T) {
	for _, dir := range []string{ipc.MessagesDir, ipc.FilesDir} { // requests may lie in both
		for _, recorded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, recorded %t", dir, recorded), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var w *world
					var request string
					w = newWorld(t, func(o *options) {
						o.Looked = func() {
							if recorded && os.Remove(request) == nil {
								w.toolSends()
							}
						}
					})
					request = filepath.Join(w.layout().IPC("family", dir), "r.json")
					w.run()
					w.write("family", "1", "send me a file")
					a := w.runtime.next()
					time.Sleep(time.Second)
					check(t, os.WriteFile(request, []byte("{}"), 0o644))
					check(t, os.Chtimes(request, time.Now(), time.Now())) // of the bubble's time
					a.exit(errCrash)
					time.Sleep(time.Minute)
					if w.runtime.next() != nil {
						t.Error("the turn was run again")
					}
					equal(t, "told", w.texts(), []string{interrupted})
				})
			})
		}
	}
}

// TestACommandJudgedATurnWhoseAssistantStillRan: a command opened the state of a killed host,
// took the turn for one that had sent nothing, and forgot it. Its container then sent something,
// and the next host answered the message again.
func TestACommandJudgedATurnWhoseAssistantStillRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "first")
		w.runtime.next()
		w.write("family", "2", "second") // lies unread in input/
		time.Sleep(time.Second)
		w.options.Idle = true
		w = w.restart()
		time.Sleep(time.Second)
		w.toolSends()
		w.options.Idle = false
		w.open()
		w.run()
		b := w.runtime.next()
		if has(t, b.input.Prompt, "second"); strings.Contains(b.input.Prompt, "first") {
			t.Error("the turn was run again")
		}
		equal(t, "told", w.texts(), []string{interrupted})
	})
}

// TestAKilledHostsContainerSentSomethingAfterItsTurnWasJudged: it ran until the next host had
// reached the engine.
func TestAKilledHostsContainerSentSomethingAfterItsTurnWasJudged(t *testing.T) {
	for _, during := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.run()
			w.write("family", "1", "first")
			w.runtime.next()
			time.Sleep(time.Second)
			w = w.restart()
			time.Sleep(time.Second)
			if during {
				w.runtime.before = w.toolSends // the start of the next container ends it
			} else {
				w.toolSends()
			}
			w.run()
			if b := w.runtime.next(); b != nil && !b.stopped.Load() {
				t.Error("the turn was run again")
			}
			equal(t, "told", w.texts(), []string{interrupted})
			if n := w.kept("family"); n != 0 {
				t.Errorf("%d messages are kept", n)
			}
		})
	}
}
