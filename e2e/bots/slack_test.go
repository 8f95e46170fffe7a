package bots

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

const sampleAssistant = "sample: {agent: sample}"

func TestAMemberMentionsTheAssistantInAThreadAndTheReportLandsThere(t *testing.T) {
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Public, "harbour"), s.AddUser("Anna")
	q := stage.NewQuay(t, s, chat, sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
	host := q.Serve()
	parent := s.Post(chat, anna, "what a week")
	s.PostInThread(chat, parent, anna, slacktest.Mention(s.BotUser)+" send me the report")
	s.Wait(t, "two files and the words", func() bool { return stage.FilesOf(s.FromBot(chat)) == 2 && len(s.FromBot(chat)) >= 2 })
	s.Wait(t, "the acknowledgement of every event", func() bool { return s.Unacknowledged() == 0 }) // the host's own messages are some
	host.Stop()
	for _, m := range s.FromBot(chat) {
		if m.Thread != parent {
			t.Errorf("this is not in the thread: %+v", m)
		}
		for _, f := range m.Files {
			if got, err := os.ReadFile(filepath.Join(q.Dir, "state/groups/quay", f.Name)); err != nil || !bytes.Equal(got, f.Bytes(t)) {
				t.Errorf("%s is not what the assistant wrote: %v", f.Name, err)
			}
		}
	}
}

func TestTwoThreadsOfASlackChannelNeverMix(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Private, "harbour"), s.AddUser("Anna")
	q := stage.NewQuay(t, s, chat, sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
	host := q.Serve()
	const rounds = 3
	threads := []string{s.Post(chat, anna, "talk of the east quay"), s.Post(chat, anna, "talk of the west quay")}
	want := map[string]string{} // the thread, by the file's name
	for round := range rounds {
		for i, thread := range threads {
			name := fmt.Sprintf("quay%d-%d.bin", i, round)
			q.File(name, []byte(rand.Text()))
			want[name] = thread
			s.PostInThread(chat, thread, anna, slacktest.Mention(s.BotUser)+" send "+name)
		}
		s.Wait(t, "the files of both", func() bool { return stage.FilesOf(s.FromBot(chat)) == len(want) })
	}
	host.Stop()
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
	q := stage.NewQuay(t, s, chat, "", "")
	host := q.Serve()
	gone := s.Post(chat, anna, "never mind")
	s.Delete(chat, gone)
	for _, id := range []string{
		q.Ask(ipc.Request{Type: ipc.TypeMessage, Thread: gone, Text: "too late"}),
		q.Ask(ipc.Request{Type: ipc.TypeFile, Thread: gone, Files: []ipc.FileRef{{Path: q.File("late.bin", []byte("late"))}}}),
	} {
		if r := q.Result(id); r.Status != ipc.Sent || !strings.Contains(notes(r), "went to the chat itself") {
			t.Errorf("the result is %+v", r)
		}
	}
	host.Stop()
	if m := s.FromBot(chat); len(m) != 2 || m[0].Thread != "" || m[1].Thread != "" {
		t.Errorf("the chat has %+v", m)
	}
}
