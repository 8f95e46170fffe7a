package command

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

func TestAMemberMentionsTheAssistantInADiscordThreadAndTheReportLandsThere(t *testing.T) {
	s := discordtest.New(t)
	p := newPier(t, s, "", sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
	anna, thread := s.AddUser("Anna"), s.AddThread(p.chat, "the week")
	host := p.serve()
	s.Post(thread, anna, "<@"+s.BotID+"> send me the report", discordtest.Says{Mentions: []string{s.BotID}})
	files := func() (all []discordtest.File) {
		for _, m := range s.FromBot(p.chat) {
			all = append(all, m.Files...)
		}
		return all
	}
	s.Wait(t, "two files and the words", func() bool { return len(files()) == 2 && len(s.FromBot(p.chat)) >= 2 })
	host.stop()
	for _, m := range s.FromBot(p.chat) {
		if m.Channel != thread {
			t.Errorf("this is not in the thread: %+v", m)
		}
	}
	for _, f := range files() {
		if got, err := os.ReadFile(filepath.Join(p.dir, "state/groups/pier", f.Name)); err != nil || digest(got) != f.SHA256 {
			t.Errorf("%s is not what the assistant wrote: %v", f.Name, err)
		}
	}
}

// discordKills are moments of a message, with what had been done when the host was
// killed.
var discordKills = map[string]func(kill func()) discordtest.Fault{
	"before the message is made": func(kill func()) discordtest.Fault { return discordtest.Fault{Before: kill, Status: 503} },
	"after the message is made":  func(kill func()) discordtest.Fault { return discordtest.Fault{After: kill, Lost: true} },
}

func TestKilledAtEachStepNothingIsLostAndNothingShowsTwiceOnDiscord(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 8 hosts")
	}
	for name, fault := range discordKills {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, time %d", name, nth), func(t *testing.T) {
				t.Parallel()
				s := discordtest.New(t)
				p := newPier(t, s, "", "", "")
				thread := s.AddThread(p.chat, "the week")
				want := p.killedAt(nth, fault, thread)
				if got := p.shown(thread); !slices.Equal(got, want) {
					t.Errorf("shown are\n%s\nasked for were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// killedAt asks for much, kills the host at the nth message, and has another one do the
// rest. It returns what a member is to see.
func (p *pier) killedAt(nth int, fault func(kill func()) discordtest.Fault, thread string) (want []string) {
	p.t.Helper()
	var host *berthHost
	started, killed := make(chan struct{}), make(chan struct{})
	p.srv.Next("create", append(make([]discordtest.Fault, nth-1), fault(func() {
		defer close(killed)
		<-started
		host.kill()
	}))...)
	var ids []string
	for i := range 3 {
		text, one, two := rand.Text(), []byte(rand.Text()), bytes.Repeat([]byte(rand.Text()), 1000)
		ids = append(ids, p.ask(ipc.Request{Type: ipc.TypeMessage, Thread: thread, Text: text}))
		files := []ipc.FileRef{{Path: p.file(fmt.Sprintf("one%d.bin", i), one)}, {Path: p.file(fmt.Sprintf("two%d.bin", i), two)}}
		ids = append(ids, p.ask(ipc.Request{Type: ipc.TypeFile, Thread: thread, Files: files}))
		want = append(want, text, digest(one)+" "+digest(two))
	}
	host = p.start()
	close(started)
	select {
	case <-killed:
	case <-soon(p.t).Done():
		p.t.Fatal("the host never got there")
	}
	again := p.serve()
	for _, id := range ids {
		if r := p.result(id); r.Status != ipc.Sent {
			p.t.Errorf("the result is %+v", r)
		}
	}
	again.stop()
	return want
}

// shown are the texts, or the files' hashes, of the bot's messages in a thread.
func (p *pier) shown(thread string) (all []string) {
	p.t.Helper()
	for _, m := range p.srv.FromBot(p.chat) {
		if m.Channel != thread {
			p.t.Errorf("this is not in the thread: %+v", m)
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

func TestAFileOf100MBNeedsLittleMemoryOnItsWayToABoostedServer(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 100 MB")
	}
	const size, most = 100 << 20, 64 << 20
	s := discordtest.New(t)
	s.Tier = 3
	p := newPier(t, s, ", boost_level: 3", "", "")
	send := func(name string, size int64) ipc.Result {
		t.Helper()
		path := p.file(name, nil)
		if err := os.Truncate(filepath.Join(p.dir, "state/groups/pier", name), size); err != nil {
			t.Fatal(err)
		}
		return p.result(p.ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}}))
	}
	host := p.serve()
	if r := send("film.bin", size); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	peak := peakMemory(t, host.cmd.Process.Pid)
	t.Logf("the host had %d MiB at most", peak>>20)
	if peak > most && !raceDetector {
		t.Errorf("the host had %d MiB at most, want %d", peak>>20, most>>20)
	}
	if r := send("longer.bin", size+1); r.Status != ipc.Refused || s.Calls("create") != 1 {
		t.Errorf("of one byte more the result is %+v, and Discord was asked %d times", r, s.Calls("create"))
	}
	host.stop()
	if m := s.FromBot(p.chat); len(m) != 1 || len(m[0].Files) != 1 || m[0].Files[0].Size != size {
		t.Errorf("the chat has %+v", m)
	}
}

func TestAVoiceNoteWithACaptionIsTwoMessagesOfDiscordAndOneReceipt(t *testing.T) {
	s := discordtest.New(t)
	p := newPier(t, s, "", "", "")
	host := p.serve()
	note := ipc.FileRef{Path: p.file("note.ogg", probetest.Opus(150)), As: "voice", Caption: "listen"}
	r := p.result(p.ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{note}}))
	host.stop()
	all := s.FromBot(p.chat)
	if r.Status != ipc.Sent || len(r.Parts) != 2 || len(all) != 2 {
		t.Fatalf("the result is %+v, and the chat shows %+v", r, all)
	}
	for _, m := range all {
		if m.Voice != (len(m.Files) == 1) || m.Voice != (m.Text == "") {
			t.Errorf("the chat shows %+v", m)
		}
	}
}
