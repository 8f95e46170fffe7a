package turns_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// platform has members' files and gives them out as the test says.
type platform struct {
	mu    sync.Mutex
	asked []string // refs, with a ! for a patient attempt
	give  func(ctx context.Context, f channel.FileRef, attempt int) (string, error)
}

func (p *platform) fetch(ctx context.Context, _ string, f channel.FileRef) (io.ReadCloser, error) {
	p.mu.Lock()
	ref := f.Ref
	if f.Patient {
		ref += "!"
	}
	p.asked = append(p.asked, ref)
	n := 0
	for _, a := range p.asked {
		if strings.TrimSuffix(a, "!") == f.Ref {
			n++
		}
	}
	p.mu.Unlock()
	body, err := p.give(ctx, f, n)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader(body)), nil
}

func (p *platform) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// slow is an attempt that ends because its bytes come too slowly.
func slow(ctx context.Context) (string, error) {
	select {
	case <-time.After(10 * time.Second):
		return "", errors.New("too slow")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// hang is an attempt that nothing but the host's end ends.
func hang(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func fetching(t *testing.T, p *platform, gs ...groups.Group) *world {
	return newWorld(t, func(o *options) { o.Fetch = p.fetch }, gs...)
}

// brings is a member's message with a file that lies with the platform.
func (w *world) brings(folder, id, text, ref string) {
	w.t.Helper()
	check(w.t, w.m.Receive(context.Background(), folder, channel.Inbound{
		ID: id, Chat: groups.JID("web:" + folder), From: "Ann", Text: text, Time: time.Now(),
		Files: []channel.Attachment{{Info: media.Info{Name: ref + ".txt", Kind: media.Document, MIME: "text/plain", Size: 5}, Ref: ref}},
	}))
}

func (w *world) inInbox(folder, name string) string {
	data, _ := os.ReadFile(filepath.Join(w.state, "groups", folder, "inbox", name))
	return string(data)
}

func TestAFileThatComesSoonIsInThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) {
			time.Sleep(3 * time.Second)
			return "bytes", nil
		}}
		w := fetching(t, p)
		w.run()
		w.brings("family", "1", "read this", "report")
		if w.runtime.next() != nil {
			t.Error("the message was handed over before its file was there")
		}
		time.Sleep(3 * time.Second)
		a := w.runtime.next()
		has(t, a.input.Prompt, "read this", `path="/workspace/group/inbox/report.txt"`)
		if strings.Contains(a.input.Prompt, "not_stored") || w.inInbox("family", "report.txt") != "bytes" {
			t.Errorf("the prompt is %s, the file %q", a.input.Prompt, w.inInbox("family", "report.txt"))
		}
		a.says("done")
		if n := w.wanted("family"); n != 0 {
			t.Errorf("%d references are left", n)
		}
	})
}

// wanted counts the references of files that are kept.
func (w *world) wanted(folder string) int {
	w.t.Helper()
	return w.count(`SELECT COUNT(*) FROM inbound_file WHERE folder = ?`, folder)
}

// A message stopped its chat, and four of them the whole account, until its
// file had been downloaded, however long that took.
func TestASlowFileGivesItsPlaceBackAndItsMessageArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(ctx context.Context, f channel.FileRef, attempt int) (string, error) {
			if f.Ref == "tarpit" && !f.Patient {
				return slow(ctx)
			}
			if f.Ref == "tarpit" {
				time.Sleep(time.Hour)
			}
			return "bytes", nil
		}}
		w := fetching(t, p)
		w.run()
		w.brings("family", "1", "take this", "tarpit")
		w.brings("family", "2", "and this", "quick")
		w.write("family", "3", "only words")
		time.Sleep(10 * time.Second)
		a := w.runtime.next()
		has(t, a.input.Prompt, "take this", "still being fetched")
		// What is ready when the turn starts stands in its prompt, the rest follows.
		has(t, a.input.Prompt+strings.Join(a.reads(), ""), "and this", `path="/workspace/group/inbox/quick.txt"`, "only words")
		a.says("I have one of them.")
		time.Sleep(time.Hour)
		synctest.Wait()
		texts := a.reads()
		if len(texts) != 0 { // it was ended, having nothing to do for so long
			has(t, texts[0], "_close")
		}
		a.exit(nil)
		if w.inInbox("family", "tarpit.txt") != "" {
			t.Error("the file is there too soon")
		}
		time.Sleep(time.Minute)
		if b := w.runtime.next(); b != nil {
			t.Error("a file that came late started a turn")
		}
		w.write("family", "4", "and now?")
		has(t, w.runtime.next().input.Prompt, `the file &quot;tarpit.txt&quot; of message 1 from &quot;Ann&quot; now lies in the inbox: /workspace/group/inbox/tarpit.txt`, "and now?")
	})
}

func TestALateFileReachesTheAssistantThatWasAskedForIt(t *testing.T) {
	for _, called := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := &platform{give: func(ctx context.Context, f channel.FileRef, _ int) (string, error) {
				if f.Patient {
					time.Sleep(time.Minute)
					return "bytes", nil
				}
				return slow(ctx)
			}}
			g := group("family")
			g.Trigger = "@Andy"
			w := fetching(t, p, g)
			w.run()
			text := "just so you know"
			if called {
				text = "@Andy sum it up"
			}
			w.brings("family", "1", text, "report")
			time.Sleep(11 * time.Second)
			w.write("family", "2", "@Andy hello")
			a := w.runtime.next()
			if called {
				synctest.Wait()
				a.reads()
			}
			a.says("Hello.")
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			got := a.reads()
			if called {
				if len(got) != 1 {
					t.Fatalf("the assistant got %q", got)
				}
				has(t, got[0], "now lies in the inbox")
				return
			}
			if len(got) != 0 {
				t.Errorf("a file that nobody spoke to the assistant about came as %q", got)
			}
			w.write("family", "3", "@Andy, what is in it?")
			synctest.Wait()
			has(t, a.reads()[0], "now lies in the inbox", "what is in it?")
		})
	}
}

func TestAFileThatCannotBeHadIsSaidSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) {
			return "", &channel.Error{Class: channel.Permanent, Message: "the message lacks the file's key", Hint: "ask the member to send the file again"}
		}}
		w := fetching(t, p)
		w.run()
		w.brings("family", "1", "read this", "report")
		has(t, w.runtime.next().input.Prompt, "the message lacks the file&apos;s key; ask the member to send the file again")
		if p.attempts() != 1 || w.wanted("family") != 0 {
			t.Errorf("%d attempts, %d left", p.attempts(), w.wanted("family"))
		}
	})
}

// The attempts at a file were begun anew by every start of the host.
func TestARestartDoesNotTakeUpTheSameTarpitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(ctx context.Context, _ channel.FileRef, _ int) (string, error) { return hang(ctx) }}
		g := group("family")
		g.Trigger = "@Andy"
		w := fetching(t, p, g)
		end := w.run()
		w.brings("family", "1", "take this", "tarpit")
		for range 8 {
			synctest.Wait()
			end()
			w.open()
			end = w.run()
		}
		synctest.Wait()
		if p.attempts() != 4 {
			t.Errorf("%d attempts were made, want 4", p.attempts())
		}
		w.write("family", "2", "@Andy, well?")
		has(t, w.runtime.next().input.Prompt, "take this", "it could not be fetched from the platform in 4 attempts; ask the member to send it again")
		if left := w.wanted("family"); left != 0 {
			t.Errorf("%d are left", left)
		}
	})
}

func TestAttemptsThatAskedNobodyDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Now().Add(2 * time.Hour)
		p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) {
			if time.Now().Before(up) {
				return "", &channel.Error{Class: channel.Held, Message: "not connected"}
			}
			return "bytes", nil
		}}
		w := fetching(t, p)
		w.run()
		w.brings("family", "1", "read this", "report")
		time.Sleep(3 * time.Hour)
		if w.inInbox("family", "report.txt") != "bytes" {
			t.Errorf("after %d attempts the file is not there", p.attempts())
		}
	})
}

func TestAHangingFileDelaysNoOtherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gs []groups.Group
		for i := range 6 {
			gs = append(gs, group(fmt.Sprintf("g%d", i)))
		}
		p := &platform{give: func(ctx context.Context, f channel.FileRef, _ int) (string, error) {
			if f.Ref == "tarpit" {
				return hang(ctx)
			}
			return "bytes", nil
		}}
		w := fetching(t, p, gs...)
		w.run()
		for i := range 5 {
			w.brings(fmt.Sprintf("g%d", i), "1", "take this", "tarpit")
		}
		w.brings("g5", "1", "read this", "report")
		has(t, w.runtime.next().input.Prompt, "read this", `path="/workspace/group/inbox/report.txt"`)
		for i := range 5 {
			check(t, w.m.Notify(fmt.Sprintf("g%d", i), "", "a delivery failed after all"))
		}
	})
}

// slowFile is a file whose bytes come when the test says so.
type slowFile struct{ opened, release chan struct{} }

func (s slowFile) Read([]byte) (int, error) {
	close(s.opened)
	<-s.release
	return 0, io.EOF
}

// Receive and Notify shared a lock, which Receive held while bytes came; the
// goroutine that writes all groups' results calls Notify.
func TestANoticeDoesNotWaitForAFile(t *testing.T) {
	opened, release, received := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	w := newWorld(t, func(o *options) {
		o.Fetch = func(context.Context, string, channel.FileRef) (io.ReadCloser, error) {
			return io.NopCloser(slowFile{opened, release}), nil
		}
	})
	w.run()
	go func() {
		received <- w.m.Receive(context.Background(), "family", channel.Inbound{ID: "1", Chat: "web:family", Text: "take this", Files: []channel.Attachment{w.lay("slow.txt", "")}})
	}()
	<-opened
	noticed := make(chan error, 1)
	go func() { noticed <- w.m.Notify("family", "", "a delivery failed after all") }()
	select {
	case err := <-noticed:
		check(t, err)
	case <-time.After(time.Minute):
		t.Error("the notice waits for the file")
	}
	close(release)
	check(t, <-received)
}

// A place is heard as the words that it is in; who comes and goes is not heard.
func TestPlacesAreHeardAndMembershipsAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{Kind: channel.KindMembership, ID: "1", Chat: "web:family", Text: "hello", Direct: true}))
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Errorf("%d are kept, or a turn was started", w.kept("family"))
		}
		place := channel.Location{Latitude: 48.1, Longitude: 11.5, Name: "home"}
		check(t, w.m.Receive(t.Context(), "family", channel.Inbound{Kind: channel.KindLocation, ID: "6", Chat: "web:family", Text: place.String(), Location: &place}))
		has(t, w.runtime.next().input.Prompt, "Location: 48.100000, 11.500000 home")
	})
}
