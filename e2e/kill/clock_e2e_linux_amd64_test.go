//go:build e2e

package kill

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// The chats of Telegram: one whose messages do not go, and one with an assistant.
const (
	clockSlow  = -1001
	clockTalks = -1002
)

const clockConfig = `channels:
  web: {listen: "127.0.0.1:0"}
  telegram: {token_file: tg, server: %q, rate: {per_minute: 600000, burst: 10000}}
limits: {free_disk: 1MB, retry: {first: 200ms, max: 2s}}
assistants: {sample: {runtime: process, agent: sample}}
groups:
  - {name: Plain, folder: plain, chat: "web:plain"}
  - {name: Rated, folder: rated, chat: "web:rated", rate: {per_minute: 120, burst: 1}}
  - {name: Asks, folder: asks, chat: "web:asks", approve: {above: 10}}
  - {name: Slow, folder: slow, chat: "tg:%d"}
  - {name: Talks, folder: talks, chat: "tg:%d", assistant: sample, gather: {after: 1s}}
`

// clocked is a host whose clock is set.
type clocked struct {
	*testing.T
	dir    string
	cfg    *config.Config
	tg     *telegramtest.Server
	clock  *stage.Clock
	host   *exec.Cmd
	log    lastLines
	ahead  time.Duration
	passed time.Duration // by which the clock was set between the last two hosts
	slow   []string      // texts that the chat is to show, in order
	plain  []string      // hashes of what the page is to show
	talked int
}

func newClocked(t *testing.T) *clocked {
	t.Helper()
	c := &clocked{T: t, dir: t.TempDir(), tg: telegramtest.New(t, clockSlow, clockTalks)}
	stage.Must(t, os.WriteFile(filepath.Join(c.dir, "tg"), []byte(telegramtest.Token), 0o600))
	stage.Must(t, os.WriteFile(c.file(), fmt.Appendf(nil, clockConfig, c.tg.URL, clockSlow, clockTalks), 0o600))
	cfg, err := config.Load(c.file(), stage.AllPlatforms())
	stage.Must(t, err)
	stage.Must(t, cfg.Layout().Prepare(cfg.Groups))
	c.cfg = cfg
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			all := c.log.String()
			t.Logf("the end of the host's log:\n%s", all[max(0, len(all)-8000):])
		}
	})
	return c
}

func (c *clocked) file() string { return filepath.Join(c.dir, "longshore.yaml") }

func (c *clocked) operator() *operator.Client {
	return operator.NewClient(operator.ControlDir(c.cfg.Layout()))
}

func (c *clocked) start() {
	c.Helper()
	c.host = exec.Command(os.Args[0], "serve", "-c", c.file())
	c.host.Env = append(os.Environ(), stage.ServeEnv+"=1")
	c.host.Stderr = &c.log
	var err error
	c.clock, err = stage.StartWith(c.host, c.ahead)
	stage.Must(c.T, err)
	c.until("the host answers", func() bool { return c.operator().Health(c.Context()) == nil })
}

func (c *clocked) kill() {
	if c.host != nil {
		_ = c.host.Process.Kill() // it may have ended
		_ = c.host.Wait()
		c.clock.Close()
		c.host = nil
	}
}

// set sets the clock.
func (c *clocked) set(ahead time.Duration) {
	c.Helper()
	c.ahead = ahead
	stage.Must(c.T, c.clock.Set(ahead))
}

func (c *clocked) until(what string, is func() bool) {
	c.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(stage.Patience); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			c.Fatalf("with the clock %v ahead, not in %v: %s", c.ahead, stage.Patience, what)
		}
	}
}

func (c *clocked) client(folder string) *ipc.Client {
	return ipc.NewClient(c.cfg.Layout().IPC(folder, ""))
}

func (c *clocked) enqueue(folder string, r ipc.Request) (id string) {
	c.Helper()
	id, err := c.client(folder).Enqueue(c.Context(), r)
	stage.Must(c.T, err)
	return id
}

func (c *clocked) text(folder string) (id, text string) {
	text = rand.Text()
	return c.enqueue(folder, ipc.Request{Type: ipc.TypeMessage, Text: text}), text
}

func (c *clocked) ends(folder, id string, want ...ipc.Status) (r ipc.Result) {
	c.Helper()
	c.until("the end of a request of "+folder, func() bool {
		got, err := c.client(folder).Status(id)
		r = got
		return err == nil && got.Status.Final()
	})
	if len(want) > 0 && !slices.Contains(want, r.Status) {
		c.Errorf("with the clock %v ahead, a request of %s has the result %+v", c.ahead, folder, r)
	}
	return r
}

// stuck has a text wait for its next attempt in the slow chat.
func (c *clocked) stuck() (id string) {
	c.Helper()
	c.tg.Always("sendMessage", telegramtest.Fault{Status: 429, // which says that it was not taken
		Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}`})
	id, text := c.text("slow")
	c.slow = append(c.slow, text)
	c.until("attempts", func() bool {
		items, err := c.operator().List(c.Context(), operator.Filter{Group: "slow"})
		return err == nil && slices.ContainsFunc(items, func(i operator.Item) bool { return i.Request == id && i.Attempts >= 2 && i.Next != nil })
	})
	return id
}

// works has everything go as usual, what waits since before the clock was set included.
func (c *clocked) works(stuck string) {
	c.Helper()
	c.tg.Always("sendMessage", telegramtest.Fault{})
	for range 3 {
		id, text := c.text("plain")
		c.plain = append(c.plain, stage.Digest([]byte(text)))
		c.ends("plain", id, ipc.Sent, ipc.Delivered)
	}
	for range 3 { // more than the rate gives at once
		id, _ := c.text("rated")
		c.ends("rated", id, ipc.Sent, ipc.Delivered)
	}
	c.delivered(stuck)
	c.tg.Tell("message", clockTalks, map[string]any{"text": "ping", "from": map[string]any{"id": 7, "first_name": "Ann"}})
	c.talked++
	c.until("an answer to a member", func() bool { return len(c.tg.WaitFor(c.T, clockTalks, 0)) >= c.talked })
	c.due()
}

// delivered waits until the slow chat has its last text. If the host was killed in the
// midst of an attempt, nobody can say whether Telegram took it: it did not. If a day seems
// to have passed, it has failed, and says so; the operator tries it again.
func (c *clocked) delivered(id string) {
	c.Helper()
	r := c.ends("slow", id)
	switch {
	case r.Status == ipc.Uncertain:
		c.slow = c.slow[:len(c.slow)-1]
	case r.Status == ipc.Failed && r.Parts[0].Code == "deadline" && c.passed >= 24*time.Hour:
		items, err := c.operator().List(c.Context(), operator.Filter{Group: "slow", Failed: true})
		stage.Must(c.T, err)
		i := slices.IndexFunc(items, func(i operator.Item) bool { return i.Request == id })
		stage.Must(c.T, c.operator().Retry(c.Context(), items[i].ID))
		c.until("the retry", func() bool { return len(c.tg.WaitFor(c.T, clockSlow, 0)) == len(c.slow) })
	case r.Status != ipc.Sent:
		c.Errorf("with the clock %v ahead, the slow request has the result %+v", c.ahead, r)
	}
}

// due checks that no task waits longer than its schedule says, as soon as a task is made.
func (c *clocked) due() {
	c.Helper()
	id := c.enqueue("talks", ipc.Request{Type: ipc.TypeScheduleTask, Prompt: "say tick", ScheduleType: "interval", ScheduleValue: "3600000"})
	c.ends("talks", id, ipc.Done)
	c.until("tasks are due within their interval", func() bool {
		all, err := c.operator().Tasks(c.Context(), "")
		stage.Must(c.T, err)
		for _, task := range all {
			if wait := task.Next.Sub(time.Now().Add(c.ahead)); wait > time.Hour+time.Minute {
				return false
			}
		}
		return len(all) > 0
	})
}

// asks has three files wait for an approval, and returns their requests.
func (c *clocked) asks() (ids []string) {
	c.Helper()
	for range 3 {
		name := rand.Text()
		stage.Must(c.T, os.WriteFile(filepath.Join(c.cfg.Layout().Workspace("asks"), name), []byte(strings.Repeat(name, 2)), 0o644))
		ids = append(ids, c.enqueue("asks", ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name}}}))
	}
	c.until("three wait for an approval", func() bool {
		items, err := c.operator().List(c.Context(), operator.Filter{Waiting: true})
		return err == nil && len(items) == 3
	})
	return ids
}

// decide answers yes, no, and to the third not at all. A clock that is set ahead of the
// approval's time ends it, and says so.
func (c *clocked) decide(ids []string) {
	c.Helper()
	items, err := c.operator().List(c.Context(), operator.Filter{Waiting: true})
	stage.Must(c.T, err)
	for i, want := range []ipc.Status{ipc.Sent, ipc.Refused} {
		for _, item := range items {
			if item.Request == ids[i] {
				_ = c.operator().Decide(c.Context(), item.ID, want == ipc.Sent) // it may expire at this moment
			}
		}
		if r := c.ends("asks", ids[i], want, ipc.Refused); r.Status == ipc.Refused && r.Code != "not_approved" && (r.Code != "approval_expired" || c.ahead < 24*time.Hour) {
			c.Errorf("with the clock %v ahead, an approval ended as %+v", c.ahead, r)
		}
	}
	if c.ahead >= 24*time.Hour {
		if r := c.ends("asks", ids[2], ipc.Refused); r.Code != "approval_expired" {
			c.Errorf("a day later an approval is %+v", r)
		}
	} else if r, err := c.client("asks").Status(ids[2]); err != nil || r.Code != ipc.CodeAwaiting {
		c.Errorf("with the clock %v ahead, what nobody answered is %+v, %v", c.ahead, r, err)
	}
}

// TestAClockThatIsSetWhileTheHostRunsLosesNothingAndKeepsNothingWaiting sets the host's
// clock by a minute and by a day, forwards and backwards, while messages wait for their
// next attempt, for their rate and for approvals, and tasks and a member's messages come.
// Then hosts are killed, and start with that clock, and with the right one.
//
// What counts by the wall clock follows it: approvals, questions, links and sessions of
// browsers end earlier or later by the jump, and say so; cron schedules go by it. What
// counts by the time that has passed does not notice: rates, retries, pauses of channels,
// leases on requests, an assistant's idle time. A new host knows only the wall clock. It
// shortens waits that are longer than any it would make, and gives up what seems to have
// waited for limits.retry.max_age.
func TestAClockThatIsSetWhileTheHostRunsLosesNothingAndKeepsNothingWaiting(t *testing.T) {
	jumps := []time.Duration{-24 * time.Hour, 24 * time.Hour, -time.Minute, time.Minute}
	for _, jump := range jumps {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			c := newClocked(t)
			c.start()
			c.due()
			stuck, asked := c.stuck(), c.asks()
			c.set(jump)
			c.works(stuck)
			c.decide(asked)
			if jump.Abs() >= time.Hour {
				c.until("the status names the clock", func() bool {
					out, _, _ := stage.RunLine(t, c.file(), "status")
					return strings.Contains(out, "clock_off")
				})
			}
			next := []time.Duration{jump, 0} // a new host, with the same clock and with the right one
			if jump.Abs() < time.Hour {
				next = next[1:]
			}
			for _, ahead := range next {
				stuck = c.stuck()
				c.kill()
				c.ahead, c.passed = ahead, ahead-c.ahead
				c.start()
				c.works(stuck)
			}
			for _, fault := range c.unlike() {
				t.Error(fault)
			}
		})
	}
}

// unlike compares what members see with what was asked for.
func (c *clocked) unlike() []string {
	var slow []string
	for _, m := range c.tg.WaitFor(c.T, clockSlow, 0) {
		slow = append(slow, m.Text)
	}
	page := (&soak{TB: c.T, log: lastLines{}})
	_, _ = page.log.Write([]byte(c.log.String()))
	plain := (&pageSite{Site: &stage.Site{TB: c.T}}).shown(page.page(), "plain")
	return append(unlike("slow", c.slow, slow), unlike("plain", c.plain, plain)...)
}
