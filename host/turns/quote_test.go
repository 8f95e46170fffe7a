package turns_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// answers is a member who answers a message that has a file.
func (w *world) answers(id, ref string) {
	w.t.Helper()
	check(w.t, w.m.Receive(context.Background(), "family", channel.Inbound{
		ID: id, Chat: "web:family", From: "Bob", Text: "what is this?", Time: time.Now(),
		Quote: &channel.Quote{ID: "old", From: "Ann", Sender: "a", Text: "a picture", Files: []channel.Attachment{
			{Info: media.Info{Name: "boat.txt", Kind: media.Document, MIME: "text/plain", Size: 5}, Ref: ref},
		}},
	}))
}

// quoted is what a prompt has in its quote.
func quoted(t *testing.T, prompt string) string {
	t.Helper()
	_, after, _ := strings.Cut(prompt, "<quoted_message ")
	in, rest, ok := strings.Cut(after, "</quoted_message>")
	if !ok || strings.Contains(rest, "<attachment") {
		t.Fatalf("no quote, or a file outside of it: %s", prompt)
	}
	return in
}

// The file of a message that is answered is in the prompt by its path: that under
// which it came, also after a restart, or a new one if it is not there any more.
func TestAQuotedFileIsInThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) { return "bytes", nil }}
		w := fetching(t, p)
		end := w.run()
		w.answers("1", "ref")
		a := w.runtime.next()
		has(t, quoted(t, a.input.Prompt), `a picture`, `path="/workspace/group/inbox/boat.txt"`)
		a.says("a boat")
		end()

		next := w.restart()
		end = next.run()
		next.answers("2", "ref")
		b := next.runtime.next()
		has(t, quoted(t, b.input.Prompt), `path="/workspace/group/inbox/boat.txt"`)
		b.says("still a boat")
		check(t, os.Remove(filepath.Join(next.state, "groups/family/inbox/boat.txt")))
		next.answers("3", "ref")
		synctest.Wait()
		has(t, quoted(t, strings.Join(b.reads(), "")), `path="/workspace/group/inbox/boat.txt"`)
		if n := p.attempts(); n != 2 || next.inInbox("family", "boat.txt") != "bytes" {
			t.Errorf("fetched %d times, want once and once more after it was removed", n)
		}
		end()
	})
}

func TestAQuotedFileThatIsNotKeptIsSaidInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.answers("1", "")
		has(t, quoted(t, w.runtime.next().input.Prompt), `not_stored="the file is no longer kept"`, `name="boat.txt"`)
	})
}

// Of a quoted file that comes late, a notice says whose it is.
func TestALateQuotedFileIsToldByItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{give: func(context.Context, channel.FileRef, int) (string, error) {
			time.Sleep(20 * time.Second)
			return "bytes", nil
		}}
		w := fetching(t, p)
		w.run()
		w.answers("1", "ref")
		time.Sleep(15 * time.Second)
		a := w.runtime.next()
		has(t, quoted(t, a.input.Prompt), "not_stored=")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		has(t, strings.Join(a.reads(), ""), "that message 1 from &quot;Bob&quot; answers", "/workspace/group/inbox/boat.txt")
	})
}
