package command

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

const sampleAssistant = "sample: {agent: sample}"

func TestAMemberMentionsTheAssistantInAThreadAndTheReportLandsThere(t *testing.T) {
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Public, "harbour"), s.AddUser("Anna")
	q := newQuay(t, s, chat, sampleAssistant, ", assistant: sample, trigger: \"@Andy\"")
	host := q.serve()
	parent := s.Post(chat, anna, "what a week")
	s.PostInThread(chat, parent, anna, slacktest.Mention(s.BotUser)+" send me the report")
	s.Wait(t, "two files and the words", func() bool { return filesOf(s.FromBot(chat)) == 2 && len(s.FromBot(chat)) >= 2 })
	host.stop()
	for _, m := range s.FromBot(chat) {
		if m.Thread != parent {
			t.Errorf("this is not in the thread: %+v", m)
		}
		for _, f := range m.Files {
			if got, err := os.ReadFile(filepath.Join(q.dir, "state/groups/quay", f.Name)); err != nil || !bytes.Equal(got, f.Bytes(t)) {
				t.Errorf("%s is not what the assistant wrote: %v", f.Name, err)
			}
		}
	}
	if n := s.Unacknowledged(); n != 0 {
		t.Errorf("%d events are not acknowledged", n)
	}
}

func filesOf(messages []slacktest.Message) (n int) {
	for _, m := range messages {
		n += len(m.Files)
	}
	return n
}

func TestTwoThreadsOfASlackChannelNeverMix(t *testing.T) {
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Private, "harbour"), s.AddUser("Anna")
	q := newQuay(t, s, chat, sampleAssistant, ", assistant: sample, trigger: \"@Andy\"")
	host := q.serve()
	const rounds = 3
	threads := []string{s.Post(chat, anna, "talk of the east quay"), s.Post(chat, anna, "talk of the west quay")}
	want := map[string]string{} // the thread, by the file's name
	for round := range rounds {
		for i, thread := range threads {
			name := fmt.Sprintf("quay%d-%d.bin", i, round)
			q.file(name, []byte(rand.Text()))
			want[name] = thread
			s.PostInThread(chat, thread, anna, slacktest.Mention(s.BotUser)+" send "+name)
		}
		s.Wait(t, "the files of both", func() bool { return filesOf(s.FromBot(chat)) == len(want) })
	}
	host.stop()
	for _, m := range s.FromBot(chat) {
		for _, f := range m.Files {
			if want[f.Name] != m.Thread {
				t.Errorf("%s is in thread %q, and was asked for in %q", f.Name, m.Thread, want[f.Name])
			}
			delete(want, f.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("these never came: %v", want)
	}
}

func TestWhatGoesToASlackThreadThatIsGoneGoesToTheChannelAndSaysSo(t *testing.T) {
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Public, "harbour"), s.AddUser("Anna")
	q := newQuay(t, s, chat, "", "")
	host := q.serve()
	gone := s.Post(chat, anna, "never mind")
	s.Delete(chat, gone)
	for _, id := range []string{
		q.ask(ipc.Request{Type: ipc.TypeMessage, Thread: gone, Text: "too late"}),
		q.ask(ipc.Request{Type: ipc.TypeFile, Thread: gone, Files: []ipc.FileRef{{Path: q.file("late.bin", []byte("late"))}}}),
	} {
		if r := q.result(id); r.Status != ipc.Sent || !strings.Contains(notes(r), "went to the chat itself") {
			t.Errorf("the result is %+v", r)
		}
	}
	host.stop()
	if m := s.FromBot(chat); len(m) != 2 || m[0].Thread != "" || m[1].Thread != "" {
		t.Errorf("the chat has %+v", m)
	}
}

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

func beforeIt(kill func()) slacktest.Fault { return slacktest.Fault{Before: kill, Status: 503} }
func afterIt(kill func()) slacktest.Fault  { return slacktest.Fault{After: kill} }

func TestKilledAtEachStepNothingIsLostAndNothingShowsTwiceOnSlack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 44 hosts")
	}
	for _, moment := range killMoments {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, time %d", moment.name, nth), func(t *testing.T) {
				t.Parallel()
				s := slacktest.New(t)
				chat := s.AddChannel(slacktest.Public, "harbour")
				thread := s.Post(chat, s.AddUser("Anna"), "what a week")
				q := newQuay(t, s, chat, "", "")
				want := q.killedAt(moment, nth, thread)
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
			e := slacktest.Emulate(t)
			thread := e.Post(e.Open, "what a week")
			q := newQuay(t, e.Server, e.Open, "", "")
			want := q.killedAt(moment, 3, thread)
			if got := shown(t, e.FromBot(e.Open), thread); !slices.Equal(got, want) {
				t.Errorf("shown are\n%s\nasked for were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// killedAt asks for much, kills the host at the nth time of a moment, and has
// another one do the rest. It returns what a member is to see.
func (q *quay) killedAt(moment killMoment, nth int, thread string) (want []string) {
	q.t.Helper()
	var host *slackHost
	started, killed := make(chan struct{}), make(chan struct{})
	q.srv.Next(moment.method, append(make([]slacktest.Fault, nth-1), moment.fault(func() {
		defer close(killed)
		<-started
		host.kill()
	}))...)
	want, ids := q.askMuch(thread)
	host = q.start()
	close(started)
	select {
	case <-killed:
	case <-soon(q.t).Done():
		q.t.Fatal("the host never got there")
	}
	again := q.serve()
	for _, id := range ids {
		if r := q.result(id); r.Status != ipc.Sent {
			q.t.Errorf("the result is %+v", r)
		}
	}
	again.stop()
	return want
}

// askMuch asks for three texts, and for three posts with two files each, and
// returns what a member is to see.
func (q *quay) askMuch(thread string) (want, ids []string) {
	q.t.Helper()
	for i := range 3 {
		text, one, two := rand.Text(), []byte(rand.Text()), []byte(strings.Repeat(rand.Text(), 1000))
		ids = append(ids, q.ask(ipc.Request{Type: ipc.TypeMessage, Thread: thread, Text: text}))
		files := []ipc.FileRef{{Path: q.file(fmt.Sprintf("one%d.bin", i), one)}, {Path: q.file(fmt.Sprintf("two%d.bin", i), two)}}
		ids = append(ids, q.ask(ipc.Request{Type: ipc.TypeFile, Thread: thread, Files: files}))
		want = append(want, text, digest(one)+" "+digest(two))
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

func TestAFileOf500MBNeedsLittleMemoryOnItsWayToSlack(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 500 MB")
	}
	const size, most = 500 << 20, 64 << 20
	s := slacktest.New(t)
	chat := s.AddChannel(slacktest.Public, "harbour")
	q := newQuay(t, s, chat, "", "")
	path := q.file("film.bin", nil)
	if err := os.Truncate(filepath.Join(q.dir, "state/groups/quay/film.bin"), size); err != nil {
		t.Fatal(err)
	}
	host := q.serve()
	if r := q.result(q.ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}})); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	peak := peakMemory(t, host.cmd.Process.Pid)
	t.Logf("the host had %d MiB at most", peak>>20)
	if peak > most && !raceDetector {
		t.Errorf("the host had %d MiB at most, want %d", peak>>20, most>>20)
	}
	host.stop()
	if m := s.FromBot(chat); len(m) != 1 || len(m[0].Files) != 1 || m[0].Files[0].Size != size {
		t.Errorf("the chat has %+v", m)
	}
}

// peakMemory is the most memory that a process has had, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after + " ?")[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

func TestTenReconnectsUnderLoadLoseNoMessageFromSlack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	s := slacktest.New(t)
	anna := s.AddUser("Anna")
	chat := s.AddChannel(slacktest.Direct, anna)
	s.RetryAfter = time.Second
	q := newQuay(t, s, chat, `hears: {agent: command, command: [/bin/sh, -c, "cat >> heard; echo yes"]}`, ", assistant: hears")
	host := q.serve()
	// A connection that was up for a second is made again at once; the load is
	// what members write meanwhile.
	load := time.NewTicker(30 * time.Millisecond)
	defer load.Stop()
	messages := 0
	for i := range 10 {
		for up := time.Now(); time.Since(up) < 1100*time.Millisecond; messages++ {
			<-load.C
			s.Post(chat, anna, fmt.Sprintf("message number %03d.", messages))
		}
		n := s.Calls("apps.connections.open")
		s.Disconnect([]string{"refresh_requested", "", "warning"}[i%3])
		s.Wait(t, "another connection", func() bool { return s.Calls("apps.connections.open") > n && s.Connections() > 0 })
	}
	var heard []byte
	await(t, "all messages in the assistant's ear", func() bool {
		heard, _ = os.ReadFile(filepath.Join(q.dir, "state/groups/quay/heard"))
		return bytes.Contains(heard, fmt.Appendf(nil, "message number %03d.", messages-1)) && s.Unacknowledged() == 0
	})
	_ = host.cmd.Process.Signal(syscall.SIGTERM)
	<-host.ended
	for i := range messages {
		if n := bytes.Count(heard, fmt.Appendf(nil, "message number %03d.", i)); n != 1 {
			t.Errorf("the assistant heard message %d %d times", i, n)
		}
	}
	if n := s.Calls("apps.connections.open"); n < 11 {
		t.Errorf("the host connected %d times", n)
	}
}

// TestTheSlackOfEmulateGetsTheReport takes a server that nobody here wrote.
func TestTheSlackOfEmulateGetsTheReport(t *testing.T) {
	for name, fault := range map[string]slacktest.Fault{"": {}, "the answer to the last step is lost": {Lost: true}, "Slack is slow to take it": {Status: 429, RetryAfter: 1}} {
		t.Run(name, func(t *testing.T) {
			e := slacktest.Emulate(t)
			q := newQuay(t, e.Server, e.Private, sampleAssistant, ", assistant: sample, trigger: \"@Andy\"")
			e.Next("files.completeUploadExternal", fault)
			host := q.serve()
			parent := e.Post(e.Private, "what a week")
			e.PostInThread(e.Private, parent, slacktest.Mention(e.BotUser)+" send me the report")
			e.Wait(t, "two files and the words", func() bool { return filesOf(e.FromBot(e.Private)) >= 2 && len(e.FromBot(e.Private)) >= 2 })
			host.stop()
			files := 0
			for _, m := range e.FromBot(e.Private) {
				if files += len(m.Files); m.Thread != parent {
					t.Errorf("this is not in the thread: %+v", m)
				}
				for _, f := range m.Files {
					if got, err := os.ReadFile(filepath.Join(q.dir, "state/groups/quay", f.Name)); err != nil || !bytes.Equal(got, f.Bytes(t)) {
						t.Errorf("%s is not what the assistant wrote: %v", f.Name, err)
					}
				}
			}
			if files != 2 {
				t.Errorf("%d files came, not 2", files)
			}
		})
	}
}

func TestAFileOfAMemberOfEmulatesSlackReachesTheAssistant(t *testing.T) {
	e := slacktest.Emulate(t)
	q := newQuay(t, e.Server, e.Open, sampleAssistant, ", assistant: sample, trigger: \"@Andy\"")
	host := q.serve()
	data := []byte(rand.Text())
	e.Upload(e.Open, "", slacktest.Mention(e.BotUser)+" help", "manifest.bin", data)
	e.WaitFor(t, e.Open, 1)
	host.stop()
	found, err := filepath.Glob(filepath.Join(q.dir, "state/groups/quay/inbox/*manifest*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the inbox has %v, %v", found, err)
	}
	if got, err := os.ReadFile(found[0]); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the assistant has %q, %v", got, err)
	}
}
