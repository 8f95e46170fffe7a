package slack_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

// shows checks that the chat has one message with the files of m, byte for byte.
func (w *world) shows(t testing.TB, m channel.Message, r channel.Receipt) {
	t.Helper()
	got := w.FromBot(id(w.desk))
	if len(got) != 1 || got[0].TS != r.ID || got[0].Text != m.Text || len(got[0].Files) != len(m.Files) {
		t.Fatalf("the chat has %+v, the receipt is %+v", got, r)
	}
	for i, f := range got[0].Files {
		if f.SHA256 != m.Files[i].SHA256 || f.Name != m.Files[i].Name || f.Title != m.Files[i].Name || f.AltText != m.Files[i].Alt {
			t.Errorf("file %d is %+v", i, f)
		}
	}
}

// The host dies in any of its steps, and the next attempt goes on after the last
// one that was saved.
func TestACrashBetweenTheStepsPostsOnce(t *testing.T) {
	for crash := 1; crash <= 3; crash++ {
		t.Run(fmt.Sprint("in save ", crash), func(t *testing.T) {
			w := newWorld(t)
			w.run(t)
			m, k := w.files("three of them", "a", "bb", "ccc"), &kept{crash: crash}
			if _, err := w.attempt(t, m, k); !errors.Is(err, errCrash) {
				t.Fatalf("%v", err)
			}
			if r, err := w.find(t, m, k); r != nil || err != nil {
				t.Fatalf("nothing was shown, and Find says %+v, %v", r, err)
			}
			r, err := w.attempt(t, m, k)
			if err != nil {
				t.Fatal(err)
			}
			w.shows(t, m, r)
			if n := w.Calls("upload"); n != 3 {
				t.Errorf("%d files went up, want each once", n)
			}
		})
	}
}

// What complete did is asked before it is done again.
func TestALostAnswerOfCompletePostsOnce(t *testing.T) {
	for what, fault := range map[string]slacktest.Fault{"lost": {Lost: true}, "a failure": {Status: 502}, "an error inside": {Error: "internal_error"}, "refused for now": {Status: 429}} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.run(t)
			m, k := w.files("one", "bytes"), &kept{}
			w.Next("files.completeUploadExternal", fault)
			if _, err := w.attempt(t, m, k); err == nil {
				t.Fatal("sent")
			}
			if fault.Lost {
				w.WaitFor(t, id(w.desk), 1)
			}
			r, err := w.find(t, m, k)
			if err != nil || fault.Lost != (r != nil) {
				t.Fatalf("Find says %+v, %v", r, err)
			}
			again, err := w.attempt(t, m, k)
			if err != nil {
				t.Fatal(err)
			}
			w.shows(t, m, again)
			if w.Calls("upload") != 1 {
				t.Errorf("the bytes went up %d times", w.Calls("upload"))
			}
		})
	}
}

// Slack says ok and never shares the file: it is pending, and stays so.
func TestAFileThatIsNotSharedIsPending(t *testing.T) {
	w := newWorld(t)
	slack.ShareWithin(w.ch, 200*time.Millisecond)
	w.run(t)
	m, k := w.files("one", "bytes"), &kept{}
	w.Next("files.completeUploadExternal", slacktest.Fault{NoShare: true})
	r, err := w.attempt(t, m, k)
	if err != nil || !r.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	for range 2 {
		if r, err := w.find(t, m, k); err != nil || r == nil || !r.Pending {
			t.Errorf("Find says %+v, %v", r, err)
		}
		if r, err := w.attempt(t, m, k); err != nil || !r.Pending {
			t.Errorf("another attempt: %+v, %v", r, err)
		}
	}
	if n := w.Calls("files.completeUploadExternal"); n != 1 || len(w.FromBot(id(w.desk))) != 0 {
		t.Errorf("complete was called %d times", n)
	}
	// It ended as uncertain, and the operator has it sent again.
	k.state = regexp.MustCompile(`"a":"[^"]*"`).ReplaceAll(k.state, fmt.Appendf(nil, `"a":%q`, time.Now().Add(-6*time.Minute).Format(time.RFC3339)))
	if r, err := w.find(t, m, k); r != nil || err != nil {
		t.Errorf("after five minutes Find says %+v, %v", r, err)
	}
	if r, err = w.attempt(t, m, k); err != nil {
		t.Fatal(err)
	}
	w.shows(t, m, r)
}

// A share that comes late is found.
func TestALateShareIsFound(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m, k := w.files("one", "bytes"), &kept{}
	look, shared := make(chan struct{}), make(chan struct{})
	w.Next("files.completeUploadExternal", slacktest.Fault{Share: func() { <-look; close(shared) }})
	w.Next("files.info", slacktest.Fault{After: func() { close(look) }})
	r, err := w.attempt(t, m, k)
	<-shared
	if err != nil || r.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	w.shows(t, m, r)
}

// files.info says that the chat has the file, and not in which message.
func TestAFileIsFoundInItsChat(t *testing.T) {
	w := newWorld(t)
	w.Vague = true
	w.run(t)
	thread := w.Post(id(w.desk), w.ada, "a question")
	for _, in := range []string{"", thread} {
		m := w.files("one", "bytes")
		m.Thread = in
		r, err := w.attempt(t, m, &kept{})
		all := w.FromBot(id(w.desk))
		if last := all[len(all)-1]; err != nil || r.ID != last.TS || last.Thread != in || r.Note != "" {
			t.Errorf("%+v, %v; shown was %+v", r, err, last)
		}
	}
}

func TestBytesThatDoNotArriveGoUpAgain(t *testing.T) {
	for what, fault := range map[string]slacktest.Fault{
		"half of them are kept": {Cut: true}, "the answer is lost": {Lost: true}, "nothing is read": {Unread: true}, "Slack fails": {Status: 500},
		"the address has run out": {Status: 404}, "not now": {Status: 429}, "the host is refused": {Status: 403},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.run(t)
			m, k := w.files("one", strings.Repeat("bytes", 100_000)), &kept{}
			w.Next("upload", fault)
			_, err := w.attempt(t, m, k)
			is(t, what, err, channel.Passing, "upload_failed")
			r, err := w.attempt(t, m, k)
			if err != nil {
				t.Fatal(err)
			}
			w.shows(t, m, r)
		})
	}
}

func TestATamperedFileIsNotPosted(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m := w.files("one", "as it was accepted")
	m.Files[0].Content = channel.Bytes("as it was tampered")
	_, err := w.attempt(t, m, &kept{})
	is(t, "tampered", err, channel.Permanent, "content_changed")
	if w.Calls("files.completeUploadExternal") != 0 {
		t.Error("it was completed")
	}
}

// Slack has forgotten what was uploaded: the bytes go up again.
func TestForgottenBytesGoUpAgain(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m, k := w.files("two", "a", "bb"), &kept{crash: 2}
	if _, err := w.attempt(t, m, k); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	w.Next("files.completeUploadExternal", slacktest.Fault{Error: "file_not_found"})
	_, err := w.attempt(t, m, k)
	is(t, "forgotten", err, channel.Passing, "upload_failed")
	r, err := w.attempt(t, m, k)
	if err != nil {
		t.Fatal(err)
	}
	w.shows(t, m, r)
}

func TestAnEmptyFileIsRefused(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	_, err := w.attempt(t, w.files("one", ""), &kept{})
	is(t, "empty", err, channel.Permanent, "file_empty")
}

// What one request sends together is one message, up to Slack's most.
func TestFourteenFilesAreOneMessage(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	var all []string
	for i := range 14 {
		all = append(all, fmt.Sprint("file ", i))
	}
	m := w.files("all of them", all...)
	r, err := w.attempt(t, m, &kept{})
	if err != nil {
		t.Fatal(err)
	}
	w.shows(t, m, r)
	_, err = w.attempt(t, w.files("too many", append(all, "one more")...), &kept{})
	is(t, "fifteen", err, channel.Permanent, "too_many_files")
}
