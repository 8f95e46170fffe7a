//go:build e2e

package bots

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

// killMoment is a step of an upload or of a text, with what had been done when the
// host was killed.
type killMoment struct {
	name, method string
	fault        func(kill func()) slacktest.Fault
}

var killMoments = []killMoment{
	{"before Slack gives an upload address", "files.getUploadURLExternal", beforeIt},
	{"after Slack gave an upload address", "files.getUploadURLExternal", afterIt},
	{"before Slack has the bytes", "upload", beforeIt},
	{"after Slack has the bytes", "upload", afterIt},
	{"before the files are completed", "files.completeUploadExternal", beforeIt},
	{"after the files are completed", "files.completeUploadExternal", afterIt},
	{"before the files are shared", "files.completeUploadExternal", func(kill func()) slacktest.Fault { return slacktest.Fault{Share: kill} }},
	{"when the host asks for the share", "files.info", beforeIt},
	{"when Slack said that the files are shared", "files.info", afterIt},
	{"before a text is posted", "chat.postMessage", beforeIt},
	{"after a text is posted", "chat.postMessage", afterIt},
}

func TestKilledAtEachStepNothingIsLostAndNothingShowsTwiceOnSlack(t *testing.T) {
	for _, moment := range killMoments {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, time %d", moment.name, nth), func(t *testing.T) {
				t.Parallel()
				s := slacktest.New(t)
				chat := s.AddChannel(slacktest.Public, "harbour")
				thread := s.Post(chat, s.AddUser("Anna"), "what a week")
				q := stage.NewQuay(t, s, chat, "", "")
				want := quayKilledAt(q, moment, nth, thread)
				if got := shown(t, s.FromBot(chat), thread); !slices.Equal(got, want) {
					t.Errorf("shown are\n%s\nasked for were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// TestKilledAtEachStepNothingShowsTwiceOnEmulatesSlack asks a server that nobody
// here wrote what it has.
func TestKilledAtEachStepNothingShowsTwiceOnEmulatesSlack(t *testing.T) {
	for _, moment := range killMoments {
		if strings.Contains(moment.name, "shared") && moment.method != "files.info" {
			continue // emulate shares at once
		}
		t.Run(moment.name, func(t *testing.T) {
			t.Parallel()
			e := slacktest.Emulate(t)
			thread := e.Post(e.Open, "what a week")
			q := stage.NewQuay(t, e.Server, e.Open, "", "")
			want := quayKilledAt(q, moment, 3, thread)
			if got := shown(t, e.FromBot(e.Open), thread); !slices.Equal(got, want) {
				t.Errorf("shown are\n%s\nasked for were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// quayKilledAt asks for much, kills the host at the nth time of a moment, and has
// another one do the rest. It returns what a member is to see.
func quayKilledAt(q *stage.Quay, moment killMoment, nth int, thread string) (want []string) {
	q.T.Helper()
	var host *stage.BerthHost
	started, killed := make(chan struct{}), make(chan struct{})
	q.Srv.Next(moment.method, append(make([]slacktest.Fault, nth-1), moment.fault(func() {
		defer close(killed)
		<-started
		host.Kill()
	}))...)
	want, ids := askMuch(q, thread)
	host = q.Start()
	close(started)
	select {
	case <-killed:
	case <-stage.Soon(q.T).Done():
		q.T.Fatal("the host never got there")
	}
	again := q.Serve()
	for _, id := range ids {
		if r := q.Result(id); r.Status != ipc.Sent {
			q.T.Errorf("the result is %+v", r)
		}
	}
	again.Stop()
	return want
}

// askMuch asks for three texts, and for three posts with two files each, and
// returns what a member is to see.
func askMuch(q *stage.Quay, thread string) (want, ids []string) {
	q.T.Helper()
	for i := range 3 {
		text, one, two := rand.Text(), []byte(rand.Text()), []byte(strings.Repeat(rand.Text(), 1000))
		ids = append(ids, q.Ask(ipc.Request{Type: ipc.TypeMessage, Thread: thread, Text: text}))
		files := []ipc.FileRef{{Path: q.File(fmt.Sprintf("one%d.bin", i), one)}, {Path: q.File(fmt.Sprintf("two%d.bin", i), two)}}
		ids = append(ids, q.Ask(ipc.Request{Type: ipc.TypeFile, Thread: thread, Files: files}))
		want = append(want, text, stage.Digest(one)+" "+stage.Digest(two))
	}
	return want, ids
}

// shown are the texts, or the files' hashes, of messages in a thread.
func shown(t *testing.T, messages []slacktest.Message, thread string) (all []string) {
	t.Helper()
	for _, m := range messages {
		if m.Thread != thread {
			t.Errorf("this is not in the thread: %+v", m)
		}
		if len(m.Files) == 0 {
			all = append(all, m.Text)
			continue
		}
		var sums []string
		for _, f := range m.Files {
			sums = append(sums, f.SHA256)
		}
		all = append(all, strings.Join(sums, " "))
	}
	return all
}
