//go:build e2e

package bots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"crypto/rand"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestTwoThreadsOfASlackChannelAtOnceNeverMix has two containers of one group send
// in every way at the same time.
func TestTwoThreadsOfASlackChannelAtOnceNeverMix(t *testing.T) {
	image := containertest.AgentImage(t, "none")
	_, engine := containertest.Engine(t)
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Public, "harbour"), s.AddUser("Anna")
	q := stage.NewQuay(t, s, chat, fmt.Sprintf("talker: {runtime: docker, agent: command, command: [sh, /workspace/global/talker.sh], image: %q, network: none}", image),
		", assistant: talker, gather: {after: 0s}, parallel: 2, trigger: \"@Andy\"")
	q.Env = append(q.Env, "DOCKER_HOST="+engine)
	script := strings.ReplaceAll(stage.Talker, "$LONGSHORE ", "")
	if err := os.WriteFile(filepath.Join(q.Dir, "state/groups/global/talker.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	host := q.Serve()
	want := map[string][]string{}
	for _, what := range []string{"cats", "dogs"} {
		thread := s.Post(chat, anna, "let us talk of "+what)
		s.PostInThread(chat, thread, anna, slacktest.Mention(s.BotUser)+" make "+what+", and wait for it")
		for _, way := range []string{"tool", "drop", "media"} {
			want[thread] = append(want[thread], what+"-"+way+".txt: "+what+" by "+way)
		}
	}
	stage.Await(t, "two containers at once", func() bool {
		places, err := filepath.Glob(filepath.Join(q.Dir, "state/places/quay/*"))
		return err == nil && len(places) == 1
	})
	if err := os.WriteFile(filepath.Join(q.Dir, "state/groups/quay/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Wait(t, "all files", func() bool { return stage.FilesOf(s.FromBot(chat)) == 6 })
	host.Stop()
	got := map[string][]string{}
	for _, m := range s.FromBot(chat) {
		for _, f := range m.Files {
			got[m.Thread] = append(got[m.Thread], f.Name+": "+strings.TrimSpace(string(f.Bytes(t))))
		}
	}
	for thread, files := range want {
		if slices.Sort(got[thread]); !slices.Equal(slices.Sorted(slices.Values(files)), got[thread]) {
			t.Errorf("thread %s has %q, want %q", thread, got[thread], files)
		}
	}
}

func TestAFileOf500MBNeedsLittleMemoryOnItsWayToSlack(t *testing.T) {
	const size, most = 500 << 20, 64 << 20
	s := slacktest.New(t)
	chat := s.AddChannel(slacktest.Public, "harbour")
	q := stage.NewQuay(t, s, chat, "", "")
	path := q.File("film.bin", nil)
	if err := os.Truncate(filepath.Join(q.Dir, "state/groups/quay/film.bin"), size); err != nil {
		t.Fatal(err)
	}
	host := q.Serve()
	if r := q.Result(q.Ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}})); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	peak := peakMemory(t, host.Cmd.Process.Pid)
	t.Logf("the host had %d MiB at most", peak>>20)
	if peak > most && !stage.RaceDetector {
		t.Errorf("the host had %d MiB at most, want %d", peak>>20, most>>20)
	}
	host.Stop()
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
	t.Parallel()
	s := slacktest.New(t)
	anna := s.AddUser("Anna")
	chat := s.AddChannel(slacktest.Direct, anna)
	s.RetryAfter = time.Second
	q := stage.NewQuay(t, s, chat, `hears: {agent: command, command: [/bin/sh, -c, "cat >> heard; echo yes"]}`, ", assistant: hears, gather: {after: 0s}")
	host := q.Serve()
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
	stage.Await(t, "all messages in the assistant's ear", func() bool {
		heard, _ = os.ReadFile(filepath.Join(q.Dir, "state/groups/quay/heard"))
		return bytes.Contains(heard, fmt.Appendf(nil, "message number %03d.", messages-1)) && s.Unacknowledged() == 0
	})
	_ = host.Cmd.Process.Signal(syscall.SIGTERM)
	<-host.Ended
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
			q := stage.NewQuay(t, e.Server, e.Private, sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
			e.Next("files.completeUploadExternal", fault)
			host := q.Serve()
			parent := e.Post(e.Private, "what a week")
			e.PostInThread(e.Private, parent, slacktest.Mention(e.BotUser)+" send me the report")
			e.Wait(t, "two files and the words", func() bool { return stage.FilesOf(e.FromBot(e.Private)) >= 2 && len(e.FromBot(e.Private)) >= 2 })
			host.Stop()
			files := 0
			for _, m := range e.FromBot(e.Private) {
				if files += len(m.Files); m.Thread != parent {
					t.Errorf("this is not in the thread: %+v", m)
				}
				for _, f := range m.Files {
					if got, err := os.ReadFile(filepath.Join(q.Dir, "state/groups/quay", f.Name)); err != nil || !bytes.Equal(got, f.Bytes(t)) {
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
	q := stage.NewQuay(t, e.Server, e.Open, sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
	host := q.Serve()
	data := []byte(rand.Text())
	e.Upload(e.Open, "", slacktest.Mention(e.BotUser)+" help", "manifest.bin", data)
	e.WaitFor(t, e.Open, 1)
	host.Stop()
	found, err := filepath.Glob(filepath.Join(q.Dir, "state/groups/quay/inbox/*manifest*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the inbox has %v, %v", found, err)
	}
	if got, err := os.ReadFile(found[0]); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the assistant has %q, %v", got, err)
	}
}
