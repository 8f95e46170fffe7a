package turns_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/turns"
)

func TestATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := group("family")
		main.Main = true
		w := newWorld(t, func(o *options) {
			o.Plan = func(g groups.Group) (turns.Plan, error) {
				return turns.Plan{Name: "Andy", Agent: g.Assistant, Env: map[string]string{"MODEL": "m"}, Secrets: map[string]string{"KEY": "k"}}, nil
			}
		}, main)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		has(t, a.input.Prompt, `<context timezone="UTC" />`, `id="1" sender="Ann"`, ">hello</message>")
		if a.input.GroupFolder != "family" || a.input.ChatJid != "web:family" || !a.input.IsMain || a.input.AssistantName != "Andy" || a.input.Secrets["KEY"] != "k" || a.input.SessionID != "" {
			t.Errorf("input: %+v", a.input)
		}
		if a.spec.Agent != "sample" || a.spec.Env["MODEL"] != "m" || a.spec.Env["KEY"] != "" || a.spec.WorkDir != w.layout().Workspace("family") || len(a.spec.Mounts) == 0 {
			t.Errorf("spec: %+v", a.spec)
		}
		time.Sleep(9 * time.Second)
		a.says("<internal>hm</internal>hi Ann")
		if diff := cmp.Diff([]string{"hi Ann"}, w.texts()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]bool{true, true, true, false}, w.typing); diff != "" {
			t.Errorf("typing: %s", diff)
		}
		if n := w.kept("family"); n != 0 {
			t.Errorf("%d messages are still on disk", n)
		}
		a.exit(nil)
		w.write("family", "2", "again")
		if b := w.runtime.next(); b.input.SessionID != "session-1" {
			t.Errorf("session %q was resumed", b.input.SessionID)
		}
	})
}

func TestAFollowUpReachesTheRunningAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "first")
		a := w.runtime.next()
		w.write("family", "2", "while busy")
		synctest.Wait()
		got := a.reads()
		if len(got) != 1 {
			t.Fatalf("read %q", got)
		}
		has(t, got[0], "while busy")
		a.says("both")
		w.write("family", "3", "while resting")
		synctest.Wait()
		got = a.reads()
		if len(got) != 1 {
			t.Fatalf("read %q", got)
		}
		has(t, got[0], "while resting")
		a.says("third")
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Error("another assistant was started, or messages are left")
		}
	})
}

func TestWhatWasNotReadGoesToTheNextAssistantOnce(t *testing.T) {
	for name, exit := range map[string]error{"ended": nil, "crashed": errors.New("exit status 1")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.run()
				w.write("family", "1", "first")
				a := w.runtime.next()
				w.write("family", "2", "second")
				synctest.Wait()
				a.says("answer to the first") // the second lies unread
				if n := w.kept("family"); n != 1 {
					t.Fatalf("%d messages on disk", n)
				}
				a.exit(exit)
				time.Sleep(time.Minute)
				b := w.runtime.next()
				has(t, b.input.Prompt, "second")
				if strings.Contains(b.input.Prompt, "first") || len(b.reads()) != 0 {
					t.Error("something was handed over twice")
				}
				b.says("answer to the second")
				b.exit(nil)
				time.Sleep(time.Hour)
				if w.runtime.next() != nil {
					t.Error("a third assistant was started")
				}
				if diff := cmp.Diff([]string{"answer to the first", "answer to the second"}, w.texts()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestMessagesWithoutTheTriggerAreContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := newWorld(t, func(o *options) { o.Context = 5 }, g)
		w.run()
		for i := range 20 {
			w.write("family", fmt.Sprint(i), fmt.Sprintf("chatter %02d.", i))
		}
		if w.runtime.next() != nil || w.kept("family") != 5+1 { // the next message's transaction ends one
			t.Fatalf("started, or %d messages kept", w.kept("family"))
		}
		w.write("family", "call", "@andy sum up")
		a := w.runtime.next()
		has(t, a.input.Prompt, "chatter 15.", "chatter 19.", "@andy sum up")
		if strings.Contains(a.input.Prompt, "chatter 14.") {
			t.Error("more context than wanted")
		}
		a.says("done")
		w.write("family", "20", "thanks")
		synctest.Wait()
		if got := a.reads(); len(got) != 0 {
			t.Errorf("chatter was handed over: %q", got)
		}
		check(t, w.m.Receive(t.Context(), g.Folder, channel.Inbound{ID: "21", Chat: g.Chat, From: "Bob", Text: "and you?", Direct: true}))
		synctest.Wait()
		got := a.reads()
		if len(got) != 1 {
			t.Fatalf("read %q", got)
		}
		has(t, got[0], "thanks", "and you?")
	})
}

func TestADuplicateIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		end := w.run()
		for range 3 {
			w.write("family", "1", "hello")
		}
		a := w.runtime.next()
		has(t, a.input.Prompt, "hello")
		w.write("family", "1", "hello")
		a.says("hi")
		w.write("family", "1", "hello")
		synctest.Wait()
		if len(a.reads()) != 0 {
			t.Error("handed over again")
		}
		end()
		w = w.restart()
		w.run()
		w.write("family", "1", "hello")
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Error("taken again after a restart")
		}
	})
}

func TestGroupsWithoutAssistantAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := group("silent")
		silent.Assistant = ""
		w := newWorld(t, nil, silent)
		w.run()
		w.write("silent", "1", "hello")
		w.write("unknown", "1", "hello")
		if w.runtime.next() != nil || w.count(`SELECT COUNT(*) FROM inbound_message`) != 0 {
			t.Errorf("recorded %v", w.texts())
		}
		if err := w.m.Notify("silent", "", "x"); err == nil {
			t.Error("a notice for nobody was taken")
		}
	})
}

func TestFilesAreNamedInThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *options) { o.MaxFile = 10 })
		w.run()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{ID: "1", Chat: "web:family", From: "Ann", Files: []channel.Attachment{
			w.lay("../a.txt", "short"), w.lay("b.txt", "much too long"),
		}}))
		a := w.runtime.next()
		has(t, a.input.Prompt, `path="/workspace/group/inbox/a.txt"`, `name="b.txt" kind="document" mime="text/plain" size="13 bytes" not_stored="files may have up to 10 bytes"`)
		if content, _ := os.ReadFile(filepath.Join(a.spec.WorkDir, "inbox", "a.txt")); string(content) != "short" {
			t.Errorf("the file holds %q", content)
		}
	})
}

func TestANoticeReachesTheAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		check(t, w.m.Notify("family", "", "a.pdf was not delivered"))
		if w.runtime.next() != nil {
			t.Fatal("a notice alone started an assistant")
		}
		w.write("family", "1", "hello")
		a := w.runtime.next()
		has(t, a.input.Prompt, "a.pdf was not delivered", "hello")
		a.says("sorry")
		check(t, w.m.Notify("family", "", "b.pdf was not delivered"))
		synctest.Wait()
		if got := a.reads(); len(got) != 1 || !strings.Contains(got[0], "<notice") {
			t.Errorf("read %q", got)
		}
	})
}

func TestAnIdleAssistantIsAskedToEndAndThenEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		a.says("hi")
		time.Sleep(29 * time.Minute)
		if got := a.reads(); got != nil {
			t.Fatalf("read %q too early", got)
		}
		time.Sleep(2 * time.Minute)
		if !a.stopped.Load() {
			t.Error("it was not ended after the grace")
		}
		w.write("family", "2", "hello again")
		b := w.runtime.next()
		b.says("hi")
		time.Sleep(30*time.Minute + time.Second)
		if got := b.reads(); !slices.Equal(got, []string{"_close"}) {
			t.Errorf("read %q", got)
		}
		w.write("family", "3", "at the last moment")
		b.exit(nil)
		c := w.runtime.next()
		has(t, c.input.Prompt, "at the last moment")
		if diff := cmp.Diff([]string{"hi", "hi"}, w.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAFloodOfRepliesIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.write("family", "1", "hello")
		a := w.runtime.next()
		enough := make(chan struct{})
		go func() {
			text := "spam"
			for {
				select {
				case a.outputs <- runtime.Output{Status: runtime.Success, Result: &text}:
				case <-enough:
					return
				}
			}
		}()
		time.Sleep(time.Minute)
		if n := len(w.texts()); n < 20 || n > 40 {
			t.Errorf("%d replies within a minute", n)
		}
		close(enough)
		synctest.Wait()
		a.exit(nil)
	})
}
