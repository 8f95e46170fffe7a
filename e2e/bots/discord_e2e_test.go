//go:build e2e

package bots

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// discordKills are moments of a message, with what had been done when the host was
// killed.
var discordKills = map[string]func(kill func()) discordtest.Fault{
	"before the message is made": func(kill func()) discordtest.Fault { return discordtest.Fault{Before: kill, Status: 503} },
	"after the message is made":  func(kill func()) discordtest.Fault { return discordtest.Fault{After: kill, Lost: true} },
}

func TestKilledAtEachStepNothingIsLostAndNothingShowsTwiceOnDiscord(t *testing.T) {
	for name, fault := range discordKills {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, time %d", name, nth), func(t *testing.T) {
				t.Parallel()
				s := discordtest.New(t)
				p := stage.NewPier(t, s, "", "", "")
				thread := s.AddThread(p.Chat, "the week")
				want := killedAt(p, nth, fault, thread)
				if got := pierShown(p, thread); !slices.Equal(got, want) {
					t.Errorf("shown are\n%s\nasked for were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// killedAt asks for much, kills the host at the nth message, and has another one do the
// rest. It returns what a member is to see.
func killedAt(p *stage.Pier, nth int, fault func(kill func()) discordtest.Fault, thread string) (want []string) {
	p.T.Helper()
	var host *stage.BerthHost
	started, killed := make(chan struct{}), make(chan struct{})
	p.Srv.Next("create", append(make([]discordtest.Fault, nth-1), fault(func() {
		defer close(killed)
		<-started
		host.Kill()
	}))...)
	var ids []string
	for i := range 3 {
		text, one, two := rand.Text(), []byte(rand.Text()), bytes.Repeat([]byte(rand.Text()), 1000)
		ids = append(ids, p.Ask(ipc.Request{Type: ipc.TypeMessage, Thread: thread, Text: text}))
		files := []ipc.FileRef{{Path: p.File(fmt.Sprintf("one%d.bin", i), one)}, {Path: p.File(fmt.Sprintf("two%d.bin", i), two)}}
		ids = append(ids, p.Ask(ipc.Request{Type: ipc.TypeFile, Thread: thread, Files: files}))
		want = append(want, text, stage.Digest(one)+" "+stage.Digest(two))
	}
	host = p.Start()
	close(started)
	select {
	case <-killed:
	case <-stage.Soon(p.T).Done():
		p.T.Fatal("the host never got there")
	}
	again := p.Serve()
	for _, id := range ids {
		if r := p.Result(id); r.Status != ipc.Sent {
			p.T.Errorf("the result is %+v", r)
		}
	}
	again.Stop()
	return want
}

// pierShown are the texts, or the files' hashes, of the bot's messages in a thread.
func pierShown(p *stage.Pier, thread string) (all []string) {
	p.T.Helper()
	for _, m := range p.Srv.FromBot(p.Chat) {
		if m.Channel != thread {
			p.T.Errorf("this is not in the thread: %+v", m)
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
	const size, most = 100 << 20, 64 << 20
	s := discordtest.New(t)
	s.Tier = 3
	p := stage.NewPier(t, s, ", boost_level: 3", "", "")
	send := func(name string, size int64) ipc.Result {
		t.Helper()
		path := p.File(name, nil)
		if err := os.Truncate(filepath.Join(p.Dir, "state/groups/pier", name), size); err != nil {
			t.Fatal(err)
		}
		return p.Result(p.Ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}}))
	}
	host := p.Serve()
	if r := send("film.bin", size); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	peak := peakMemory(t, host.Cmd.Process.Pid)
	t.Logf("the host had %d MiB at most", peak>>20)
	if peak > most && !stage.RaceDetector {
		t.Errorf("the host had %d MiB at most, want %d", peak>>20, most>>20)
	}
	if r := send("longer.bin", size+1); r.Status != ipc.Refused || s.Calls("create") != 1 {
		t.Errorf("of one byte more the result is %+v, and Discord was asked %d times", r, s.Calls("create"))
	}
	host.Stop()
	if m := s.FromBot(p.Chat); len(m) != 1 || len(m[0].Files) != 1 || m[0].Files[0].Size != size {
		t.Errorf("the chat has %+v", m)
	}
}
