//go:build e2e

package bots

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// telegramKill is a moment of a message, of which there are every so many with one
// method.
type telegramKill struct {
	name, method string
	nth          func(message int) int // call of the method
	fault        func(kill func()) telegramtest.Fault
	depot        bool
	upload       bool // to the depot goes on when the host is killed
}

func telegramKills() (all []telegramKill) {
	before := func(kill func()) telegramtest.Fault { return telegramtest.Fault{Before: kill, Status: 503} }
	after := func(kill func()) telegramtest.Fault { return telegramtest.Fault{After: kill, Lost: true} }
	same := func(n int) int { return n }
	upload, show := func(n int) int { return 2*n - 1 }, func(n int) int { return 2 * n }
	for name, fault := range map[string]func(func()) telegramtest.Fault{"before": before, "after": after} {
		all = append(all,
			telegramKill{name + " a text is sent", "sendMessage", same, fault, false, false},
			telegramKill{name + " a file is sent", "sendDocument", same, fault, false, false},
			telegramKill{name + " the depot has a file", "sendDocument", upload, fault, true, true},
			telegramKill{name + " a file is shown", "sendDocument", show, fault, true, false})
	}
	return all
}

func TestKilledAtEachStepNothingShowsTwiceOnTelegramAndWhatIsMissingIsUncertain(t *testing.T) {
	for _, k := range telegramKills() {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, depot %v, time %d", k.name, k.depot, nth), func(t *testing.T) {
				t.Parallel()
				s := telegramtest.New(t, stage.DockChat, stage.DockDepot)
				settings := ""
				if k.depot {
					settings = fmt.Sprintf(", depot: \"tg:%d\"", stage.DockDepot)
				}
				newDock(t, s, settings, "", "").killedAt(k, nth)
			})
		}
	}
}

// killedAt asks for much, kills the host at the nth message, and has another one do the
// rest.
func (d *dock) killedAt(k telegramKill, nth int) {
	d.T.Helper()
	var host *stage.BerthHost
	started, killed := make(chan struct{}), make(chan struct{})
	d.srv.Next(k.method, append(make([]telegramtest.Fault, k.nth(nth)-1), k.fault(func() {
		defer close(killed)
		<-started
		host.Kill()
	}))...)
	var want, ids []string
	for i := range 3 {
		text, content := rand.Text(), bytes.Repeat([]byte(rand.Text()), 1000)
		ids = append(ids, d.Ask(ipc.Request{Type: ipc.TypeMessage, Thread: "42", Text: text}),
			d.Ask(ipc.Request{Type: ipc.TypeFile, Thread: "42", Files: []ipc.FileRef{{Path: d.File(fmt.Sprintf("one%d.bin", i), content)}}}))
		want = append(want, text, stage.Digest(content))
	}
	host = d.Start()
	close(started)
	select {
	case <-killed:
	case <-stage.Soon(d.T).Done():
		d.T.Fatal("the host never got there")
	}
	again := d.Start()
	var uncertain []string // what was on its way, and perhaps what was before it: its receipt was not on the disk
	for i, id := range ids {
		switch r := d.Result(id); {
		case r.Status == ipc.Uncertain && k.upload && i == 2*nth-1:
			d.T.Errorf("the host was killed before a member could see the file, and its result is %+v", r)
		case r.Status == ipc.Uncertain && len(uncertain) < 2:
			uncertain = append(uncertain, want[i])
		case r.Status != ipc.Sent:
			d.T.Errorf("the result of %d is %+v", i, r)
		}
	}
	again.Stop()
	var got []string
	for _, m := range d.srv.WaitFor(d.T, stage.DockChat, 0) {
		if m.Thread != 42 {
			d.T.Errorf("this is not in the topic: %+v", m)
		}
		got = append(got, m.Text+sumsOf(m))
	}
	want = slices.DeleteFunc(want, func(s string) bool { return slices.Contains(uncertain, s) && !slices.Contains(got, s) })
	if !slices.Equal(got, want) {
		d.T.Errorf("shown are\n%q\nasked for were\n%q\nuncertain is %q", got, want, uncertain)
	}
}

func sumsOf(m telegramtest.Message) (all string) {
	for _, f := range m.Files {
		all += f.SHA256
	}
	return all
}

func TestAFileOf500MBNeedsLittleMemoryOnItsWayToALocalTelegramServer(t *testing.T) {
	const size, most = 500 << 20, 64 << 20
	s := telegramtest.New(t, stage.DockChat)
	s.MaxUpload = 2000 << 20
	d := newDock(t, s, ", files: {document: 500MiB}", "", "")
	send := func(name string, size int64) ipc.Result {
		t.Helper()
		path := d.File(name, nil)
		if err := os.Truncate(filepath.Join(d.Dir, "state/groups/dock", name), size); err != nil {
			t.Fatal(err)
		}
		return d.Result(d.Ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}}))
	}
	host := d.Start()
	if r := send("film.bin", size); r.Status != ipc.Sent {
		t.Errorf("the result is %+v", r)
	}
	peak := peakMemory(t, host.Cmd.Process.Pid)
	t.Logf("the host had %d MiB at most", peak>>20)
	if peak > most && !stage.RaceDetector {
		t.Errorf("the host had %d MiB at most, want %d", peak>>20, most>>20)
	}
	if r := send("longer.bin", size+1); r.Status != ipc.Refused || s.Calls("sendDocument") != 1 {
		t.Errorf("of one byte more the result is %+v, and Telegram was asked %d times", r, s.Calls("sendDocument"))
	}
	host.Stop()
	if m := s.WaitFor(t, stage.DockChat, 1); len(m) != 1 || m[0].Files[0].Size != size {
		t.Errorf("the chat has %+v", m)
	}
}
