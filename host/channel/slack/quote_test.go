package slack_test

import (
	"io"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// A member posts a file, and calls the assistant in the thread below it: the file was
// not there.
func TestTheFilesAboveAThreadComeAlong(t *testing.T) {
	w := newWorld(t)
	in, stop := w.run(t)
	me := slacktest.Mention(w.BotUser)
	before := w.Upload(id(w.desk), "", w.ada, "an old one", "old.txt", []byte("old words")) // no longer in the journal
	in.next(t)
	stop()
	w.setup.Dir, w.setup.State = t.TempDir(), statetest.Open(t, t.TempDir())
	in, _ = w.made(t).run(t)
	hers := w.Upload(id(w.desk), "", w.ada, "the &amp; report", "report.txt", []byte("her words"))
	for all := in.next(t); ; all = in.next(t) { // the old one may be caught up with, if it is of the same second
		if in.awaited = len(all); last(all).ID == hers {
			break
		}
	}
	own := w.sent(t, w.files("an answer", "its words")).Target
	for _, tt := range []struct {
		parent, from, sender, text, content string
		own                                 bool
	}{
		{hers, "Ada", w.ada, "the & report", "her words", false},
		{before, "Ada", w.ada, "an old one", "old words", false},
		{own, "longshore", "", "an answer", "its words", true},
	} {
		w.PostInThread(id(w.desk), tt.parent, w.ada, me+" sum it up")
		got := last(in.next(t))
		q := got.Quote
		if q == nil || q.ID != tt.parent || q.From != tt.from || q.Sender != tt.sender || q.Text != tt.text || q.Own != tt.own || q.Unverified || len(q.Files) != 1 || len(got.Files) != 0 {
			t.Fatalf("came in: %+v, quoting %+v", got, q)
		}
		fetch := func(chat channel.FileRef) (string, error) {
			body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), chat)
			if err != nil {
				return "", err
			}
			defer body.Close()
			data, err := io.ReadAll(body)
			return string(data), err
		}
		if data, err := fetch(channel.FileRef{Chat: w.desk, Ref: q.Files[0].Ref}); data != tt.content || err != nil {
			t.Errorf("the file has %q, %v", data, err)
		}
		if _, err := fetch(channel.FileRef{Chat: w.office, Ref: q.Files[0].Ref}); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("another chat gets it: %v", err)
		}
		answer := w.text("here")
		answer.Thread = tt.parent
		w.sent(t, answer)
		w.PostInThread(id(w.desk), tt.parent, w.ada, me+" shorter")
		if got := last(in.next(t)); got.Quote != nil {
			t.Errorf("it comes again: %+v", got.Quote)
		}
	}
	w.Next("conversations.replies", slacktest.Fault{Status: 503})
	w.PostInThread(id(w.desk), w.Upload(id(w.desk), "", w.ada, "", "a.txt", []byte("a")), w.ada, me+" sum it up")
	in.next(t)
	if got := last(in.next(t)); got.Quote != nil || !got.Direct {
		t.Errorf("came in: %+v", got)
	}
}
