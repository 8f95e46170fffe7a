package bridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// told keeps what the assistants are told, unless notify is set.
type told struct {
	notify  func(folder, text string)
	threads map[string]string // by folder/turn
	given   map[string]bool   // by folder/thread/message

	mu    sync.Mutex
	words []string
}

func (a *told) ThreadOf(folder, turn string, _ time.Time) (string, bool) {
	thread, known := a.threads[folder+"/"+turn]
	return thread, known || turn == ""
}

func (a *told) Knows(folder, thread, message string) (bool, error) {
	return a.given[folder+"/"+thread+"/"+message], nil
}

func (a *told) Notify(folder, thread, text string) error {
	if a.notify != nil {
		a.notify(folder, text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if thread != "" {
		folder += " in " + thread
	}
	a.words = append(a.words, folder+": "+text)
	return nil
}

// run runs the outbox with a spool and a bridge of their own until stop is
// called. more are the folders of groups that the site does not have at first.
func (s *site) run(assistants bridge.Assistants, more ...string) (stop func()) {
	o := s.opts
	o.Spool = spool.New(spool.Options{Dir: s.layout.IPCDir(), Folders: append(more, "family", "work", "ops"), Poll: true})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { check(s.t, s.outbox.Run(ctx)) })
	running.Go(func() { check(s.t, o.Spool.Run(ctx)) })
	running.Go(func() { bridge.New(o).Run(ctx, assistants) })
	return func() {
		cancel()
		running.Wait()
		check(s.t, o.Spool.Close())
	}
}

// asked is a delivery that a tool has asked for an hour ago.
func asked(folder, request string) records.Delivery {
	sum := sha256.Sum256([]byte(folder + request))
	return records.Delivery{
		Key: hex.EncodeToString(sum[:16]), Folder: folder, Request: request, Channel: "memory", Chat: groups.JID("mem:" + folder),
		Created: time.Now().Add(-time.Hour), Parts: []records.Part{{Text: "x"}},
	}
}

// refusing is a platform that takes no message.
func refusing(o *outbox.Options) {
	o.Channels = []channel.Channel{memory.New(memory.Options{Online: true, Script: func(channel.Message, int) memory.Fault { return memory.Permanent() }})}
}

// All results were written by one goroutine: one group whose assistant could
// not be told of a late failure stopped the results of all.
func TestALateFailureOfOneGroupDelaysNoOthersResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, refusing)
		release := make(chan struct{})
		stop := s.run(&told{notify: func(folder, _ string) {
			if folder == "work" {
				<-release
			}
		}})
		written := func(folder, request string) bool {
			r, ok := s.spool.Result(folder, request)
			return ok && r.Status == ipc.Failed
		}
		check(t, s.outbox.Put(t.Context(), []records.Delivery{asked("work", "one")}))
		synctest.Wait()
		check(t, s.outbox.Put(t.Context(), []records.Delivery{asked("family", "two"), asked("work", "three")}))
		synctest.Wait()
		if !written("family", "two") {
			t.Error("the other group's result is not written")
		}
		if written("work", "three") {
			t.Error("a group's results were written out of order")
		}
		go close(release)
		stop()
		if !written("work", "one") || !written("work", "three") {
			t.Error("the last results were not written")
		}
	})
}

// A result that could not be written, on a full disk, was not written again before the next
// start of the host: the assistant waited for nothing.
func TestAResultThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, refusing)
		var log strings.Builder
		s.opts.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		told := &told{}
		stop := s.run(told)
		results := s.layout.IPC("work", ipc.ResultsDir)
		check(t, os.RemoveAll(results))
		check(t, os.WriteFile(results, nil, 0o600))
		one, two := asked("work", "one"), asked("work", "two")
		two.Batch = true
		check(t, s.outbox.Put(t.Context(), []records.Delivery{one, two}))
		time.Sleep(time.Minute)
		if n := strings.Count(log.String(), "result not written"); n < 2 || n > 4 { // for each state at most, not for each attempt
			t.Errorf("the log has it %d times:\n%s", n, &log)
		}
		check(t, os.Remove(results))
		check(t, os.Mkdir(results, 0o755))
		time.Sleep(time.Minute)
		stop()
		client := ipc.NewClient(s.layout.IPC("work", ""))
		for _, id := range []string{"one", "two"} {
			if r, err := client.Status(id); err != nil || r.Status != ipc.Failed {
				t.Errorf("%s: %+v, %v", id, r, err)
			}
		}
		if len(told.words) != 2 {
			t.Errorf("the assistant was told %q", told.words)
		}
	})
}

// After a group was removed and the host restarted, each attempt at a delivery
// that the group had left behind was an error in the log.
func TestTheResultsOfARemovedGroupAreNoErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var log strings.Builder
		s.opts.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		d := asked("ops", "left")
		check(t, s.outbox.Put(t.Context(), []records.Delivery{d}))
		stop := s.run(&told{})
		synctest.Wait()
		stop()
		if got, err := s.outbox.Get(t.Context(), d.Key); err != nil || got.Open() {
			t.Errorf("the delivery is %+v, %v", got, err)
		}
		if log.Len() > 0 {
			t.Errorf("the log says %s", log.String())
		}
	})
}

// A host that died between a record and its result writes the result at its
// next start. What had been reported is not reported again.
func TestResultsOfTheHostBeforeAreWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, refusing)
		check(t, s.outbox.Put(t.Context(), []records.Delivery{asked("family", "reported"), asked("work", "lost")}))
		var first told
		stop := s.run(&first)
		synctest.Wait()
		stop()
		check(t, s.spool.WriteResult("work", ipc.Result{ID: "lost", Status: ipc.Queued})) // as the crash left it
		before, _ := s.spool.Result("family", "reported")
		time.Sleep(time.Minute)
		var second told
		stop = s.run(&second)
		synctest.Wait()
		stop()
		if len(first.words) != 2 || len(second.words) != 1 {
			t.Errorf("told at first %q, and then %q", first.words, second.words)
		}
		if after, _ := s.spool.Result("family", "reported"); after.Status != ipc.Failed || !after.Time.Equal(before.Time) {
			t.Errorf("a result that stood was written again: %+v", after)
		}
		if r, _ := s.spool.Result("work", "lost"); r.Status != ipc.Failed {
			t.Errorf("the lost result is %+v", r)
		}
	})
}

// A receipt for one part of a delivery whose other part had failed reported the
// failure to the assistant a second time.
func TestAReceiptDoesNotReportAFailureAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(o *outbox.Options) {
			o.Channels = []channel.Channel{memory.New(memory.Options{Online: true, Script: func(m channel.Message, _ int) memory.Fault {
				if m.Text == "bad" {
					return memory.Permanent()
				}
				return memory.Fault{}
			}})}
		})
		var a told
		stop := s.run(&a)
		d := asked("family", "both")
		d.Parts = []records.Part{{Text: "good"}, {Text: "bad"}}
		check(t, s.outbox.Put(t.Context(), []records.Delivery{d}))
		synctest.Wait()
		sent, err := s.outbox.Get(t.Context(), "both")
		check(t, err)
		s.outbox.Report(t.Context(), d.Address(), sent.Parts[0].Receipt.ID, channel.StateRead)
		synctest.Wait()
		stop()
		if len(a.words) != 1 {
			t.Errorf("reported %q, want one failure", a.words)
		}
		r, _ := s.spool.Result("family", "both")
		if r.Status != ipc.Failed || r.Parts[0].Status != ipc.Read {
			t.Errorf("the result is %+v", r)
		}
	})
}

// The tool that asked waits from the moment at which it wrote the request. A
// request that lay deferred for longer than that, and failed as soon as there
// was room, was reported to nobody.
func TestAFailureAfterALongDeferralReachesTheAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{})
		s := newSite(t, func(o *outbox.Options) {
			o.Settings, o.SendTimeout = limited(outbox.Limits{QuotaPending: 1}), time.Hour
			o.Channels = []channel.Channel{memory.New(memory.Options{Online: true, Script: func(m channel.Message, _ int) memory.Fault {
				if m.Text == "slow" {
					return memory.Until(room)
				}
				return memory.Permanent()
			}})}
		})
		for _, id := range []string{"slow", "waits"} {
			s.enqueue("family", id, ipc.Request{Type: ipc.TypeMessage, Text: id}, time.Now())
		}
		var a told
		stop := s.run(&a)
		time.Sleep(2 * s.set.Wait())
		synctest.Wait()
		if r, _ := s.spool.Result("family", "waits"); r.Code != "over_quota" {
			t.Fatalf("the second request did not have to wait: %+v", r)
		}
		close(room)
		time.Sleep(time.Second)
		stop()
		if r, _ := s.spool.Result("family", "waits"); r.Status != ipc.Failed {
			t.Errorf("the second request ended as %+v", r)
		}
		if len(a.words) != 1 || !strings.Contains(a.words[0], "waits") {
			t.Errorf("the assistant was told %q", a.words)
		}
	})
}

// Two requests of different content under one name are two deliveries, which wrote
// one result file: a receipt of the first made the second pass for read.
func TestANewRequestUnderAnOldNameHasItsResultForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{})
		s := newSite(t, func(o *outbox.Options) {
			o.SendTimeout = time.Hour
			o.Channels = []channel.Channel{memory.New(memory.Options{Online: true, Script: func(m channel.Message, _ int) memory.Fault {
				if m.Text == "second" {
					return memory.Until(room)
				}
				return memory.Fault{}
			}})}
		})
		stop := s.run(&told{})
		s.enqueue("family", "same", ipc.Request{Type: ipc.TypeMessage, Text: "first"}, time.Now())
		time.Sleep(time.Minute)
		first, err := s.outbox.Get(t.Context(), "same")
		check(t, err)
		s.enqueue("family", "same", ipc.Request{Type: ipc.TypeMessage, Text: "second"}, time.Now())
		time.Sleep(30 * time.Second) // an attempt ends after a minute
		check(t, s.outbox.Report(t.Context(), first.Address(), first.Parts[0].Receipt.ID, channel.StateRead))
		synctest.Wait()
		if r, _ := s.spool.Result("family", "same"); r.Status != ipc.Queued {
			t.Errorf("while the second is on its way, the result is %+v", r)
		}
		close(room)
		synctest.Wait()
		stop()
		if r, _ := s.spool.Result("family", "same"); r.Status != ipc.Sent {
			t.Errorf("the second ended as %+v", r)
		}
	})
}

// The bridge asks for deferred requests when there is room again, in the
// instant in which there is.
func TestDeferredRequestsGoOnWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(o *outbox.Options) { o.Settings = limited(outbox.Limits{QuotaPending: 1}) })
		var want []string
		for i := range 5 {
			id := fmt.Sprint("r", i)
			want = append(want, id)
			s.enqueue("family", id, ipc.Request{Type: ipc.TypeMessage, Text: id}, time.Now())
		}
		start := time.Now()
		stop := s.run(&told{})
		seen, err := s.memory.WaitShown(t.Context(), "mem:family", len(want))
		check(t, err)
		if took := time.Since(start); took > 0 {
			t.Errorf("they waited %v for the next look into the queue", took)
		}
		stop()
		var got []string
		for _, m := range seen {
			got = append(got, m.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, id := range want {
			if r, ok := s.spool.Result("family", id); !ok || r.Status != ipc.Sent {
				t.Errorf("%s ended with the result %+v", id, r)
			}
		}
	})
}
