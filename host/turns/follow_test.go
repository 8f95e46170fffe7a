package turns_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/turns"
)

// reload changes the groups while the Manager runs.
func (w *world) reload(gs ...groups.Group) {
	w.t.Helper()
	w.configure(gs...)
	w.m.Reload()
	synctest.Wait()
}

// TestAChangedAssistantIsMetByTheNextMessage: the turn under way goes on with the
// old one, follow-ups too; an idle one is ended at once, an unchanged one never.
func TestAChangedAssistantIsMetByTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var model atomic.Value
		model.Store("first")
		w := newWorld(t, func(o *options) {
			o.Plan = func(groups.Group) (turns.Plan, error) {
				return turns.Plan{Env: map[string]string{"MODEL": model.Load().(string)}}, nil
			}
		})
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		model.Store("second")
		w.reload(group("family"))
		w.write("family", "2", "and this")
		synctest.Wait()
		if got := a.reads(); len(got) != 1 || got[0] == "_close" {
			t.Fatalf("in its turn, the old one reads %q", got)
		}
		a.says("both")
		if got := a.reads(); !slices.Equal(got, []string{"_close"}) {
			t.Fatalf("after its turn, the old one reads %q", got)
		}
		a.exit(nil)
		w.write("family", "3", "again")
		b := w.runtime.next()
		if b == nil || b.spec.Env["MODEL"] != "second" {
			t.Fatalf("the next message meets %+v", b)
		}
		b.says("yes")
		w.reload(group("family"))
		if got := b.lie(); len(got) > 0 {
			t.Errorf("an assistant that did not change finds %q", got)
		}
		model.Store("third")
		w.reload(group("family"))
		if got := b.reads(); !slices.Equal(got, []string{"_close"}) {
			t.Errorf("an idle one whose plan changed reads %q", got)
		}
		b.exit(nil)
	})
}

func TestARemovedGroupsMessagesWaitForItToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, group("family"), group("work"))
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		w.write("work", "1", "good morning")
		other := w.runtime.next()
		w.reload(group("work"))
		if !a.stopped.Load() || other.stopped.Load() {
			t.Fatalf("stopped: the removed group's %t, the other's %t", a.stopped.Load(), other.stopped.Load())
		}
		w.write("family", "2", "anybody?") // as for every chat without a group
		if b := w.runtime.next(); b != nil || w.kept("family") != 1 {
			t.Errorf("%d messages are on disk, and %v was started", w.kept("family"), b)
		}
		if all := w.m.Status(); len(all) != 1 || all[0].Folder != "work" {
			t.Errorf("status: %+v", all)
		}
		w.reload(group("family"), group("work"), group("kids"))
		b := w.runtime.next()
		if b == nil {
			t.Fatal("the message is not answered after its group came back")
		}
		has(t, b.input.Prompt, ">hello</message>")
		w.write("kids", "1", "hi")
		if c := w.runtime.next(); c == nil || c.spec.Group.Folder != "kids" {
			t.Error("the new group's message starts no assistant")
		}
		if len(w.texts()) != 0 {
			t.Errorf("the chats read %q", w.texts())
		}
	})
}

// What a member had asked in a group's former chat was answered in its new one.
func TestNothingOfAFormerChatReachesTheNewOne(t *testing.T) {
	for _, sent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.run()
			w.write("family", "1", "what does the doctor say?")
			a := w.runtime.next()
			if sent {
				w.toolSends()
			}
			moved := group("family")
			moved.Chat = "web:public"
			w.configure(moved)
			a.says("the doctor says")
			w.m.Reload()
			synctest.Wait()
			if !a.stopped.Load() {
				t.Error("the assistant of the former chat was not stopped")
			}
			if b := w.runtime.next(); b != nil {
				t.Errorf("an assistant of the new chat reads %q", b.input.Prompt)
			}
			w.write("family", "2", "late") // still in the former chat
			check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: "3", Chat: "web:public", Text: "hello", Time: time.Now()}))
			b := w.runtime.next()
			if b == nil || strings.Contains(b.input.Prompt, "doctor") || strings.Contains(b.input.Prompt, "late") {
				t.Fatalf("the new chat's message starts %+v", b)
			}
			b.says("hello")
			w.reload(group("family"))
			b.exit(nil)
			synctest.Wait()
			if back := w.runtime.next(); (back == nil) != sent {
				t.Errorf("sent %t: back in its former chat, the message meets %v", sent, back)
			}
			if got := w.texts(); !slices.Equal(got, []string{"hello"}) {
				t.Errorf("the chats read %q", got)
			}
		})
	}
}

// A file of the former chat was fetched for the new one, and named to it.
func TestAFileOfAFormerChatWaitsForTheGroupToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []groups.JID
		w := newWorld(t, func(o *options) {
			o.Fetch = func(_ context.Context, _ string, f channel.FileRef) (io.ReadCloser, error) {
				asked = append(asked, f.Chat)
				return nil, &channel.Error{Class: channel.Held, Code: "not_connected"}
			}
		})
		w.run()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{
			ID: "1", Chat: "web:family", Text: "look", Time: time.Now(), Files: []channel.Attachment{{Ref: "x"}},
		}))
		synctest.Wait()
		moved := group("family")
		moved.Chat = "web:public"
		w.reload(moved)
		time.Sleep(time.Hour)
		synctest.Wait()
		if slices.Contains(asked, "web:public") || len(asked) == 0 {
			t.Errorf("asked for the file in %q", asked)
		}
		asked = nil
		w.reload(group("family"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Contains(asked, "web:family") {
			t.Error("nobody asks for the file after the group came back")
		}
	})
}
