//go:build e2e

package kill

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/config"
)

const journalChat = -1001

// The assistant repeats what it is told.
const journalConfig = `channels: {telegram: {token_file: tg, server: %q, rate: {per_minute: 600000, burst: 10000}}}
limits: {free_disk: 1MB}
assistants: {echo: {agent: command, command: [cat]}}
groups: [{name: Talks, folder: talks, chat: "tg:%d", assistant: echo, gather: {after: 0s}}]
`

// heard is a site to which members write on Telegram.
type heard struct {
	*stage.Site
	tg   *telegramtest.Server
	told []string
}

func newHeard(t *testing.T) *heard {
	t.Helper()
	h := &heard{Site: &stage.Site{TB: t, Dir: t.TempDir()}, tg: telegramtest.New(t, journalChat)}
	stage.Must(t, os.WriteFile(filepath.Join(h.Dir, "tg"), []byte(telegramtest.Token), 0o600))
	file := filepath.Join(h.Dir, "longshore.yaml")
	stage.Must(t, os.WriteFile(file, fmt.Appendf(nil, journalConfig, h.tg.URL, journalChat), 0o600))
	cfg, err := config.Load(file, stage.AllPlatforms())
	stage.Must(t, err)
	stage.Must(t, cfg.Layout().Prepare(cfg.Groups))
	h.Cfg = cfg
	return h
}

func (h *heard) tell(n int) {
	for range n {
		text := rand.Text()
		h.told = append(h.told, text)
		h.tg.Tell("message", journalChat, map[string]any{"text": text, "from": map[string]any{"id": 7, "first_name": "Ann"}})
	}
}

// times is how often each message of the members came back.
func (h *heard) times() map[string]int {
	all := map[string]int{}
	for _, m := range h.tg.WaitFor(h.TB, journalChat, 0) {
		for _, text := range h.told {
			all[text] += strings.Count(m.Text, text)
		}
	}
	return all
}

func (h *heard) done() bool { return len(h.times()) > 0 && h.missing() == 0 }

func (h *heard) missing() (n int) {
	times := h.times()
	for _, text := range h.told {
		if times[text] == 0 {
			n++
		}
	}
	return n
}

// TestADiskThatFailsUnderWhatMembersWriteLosesNothing has three calls of a kind fail on the
// host's state, after its start: there are the channel's journal and the assistants'
// messages. A platform is told that a message is here only when it is in the journal, and
// the journal forgets it only when the assistants have it: so each message reaches the
// assistant, once, as soon as the disk works again. The log has told the operator.
func TestADiskThatFailsUnderWhatMembersWriteLosesNothing(t *testing.T) {
	all := []stage.Failure{
		{Kind: "write", Path: "longshore.db-wal", Nth: 30, Times: 3, Errno: syscall.ENOSPC},
		{Kind: "sync", Path: "longshore.db-wal", Nth: 7, Times: 3, Errno: syscall.EIO},
		{Kind: "write", Path: "longshore.db-wal", Nth: 50, Times: 3, Errno: syscall.EIO},
	}
	for _, f := range all {
		t.Run(strings.ReplaceAll(failureString(f), "/", "_"), func(t *testing.T) {
			t.Parallel()
			h := newHeard(t)
			h.tell(4)
			h.Traced(stage.Tracing{Fail: &f}, h.done)
			if !h.done() {
				t.Errorf("%d messages are lost; the host said: %s", h.missing(), h.Said)
			}
			if !strings.Contains(h.Said, `"error":`) {
				t.Errorf("the log says nothing: %s", h.Said)
			}
			h.tell(2)
			host := h.ServeCommand()
			stage.Must(t, host.Start())
			t.Cleanup(func() { h.Kill(host) })
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for deadline := time.After(stage.Patience); !h.done(); {
				select {
				case <-tick.C:
				case <-deadline:
					t.Fatalf("%d messages are lost after a restart", h.missing())
				}
			}
			stage.Must(t, host.Process.Signal(syscall.SIGTERM))
			stage.Must(t, host.Wait())
			for text, n := range h.times() {
				if n != 1 {
					t.Errorf("message %s reached the assistant %d times; the host before said: %s", text, n, h.Said)
				}
			}
		})
	}
}
