package bridge_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// A message and its change, written without waiting, were refused for good: the message was
// not recorded yet, or not sent yet.
func TestAChangeWaitsForTheMessageBeforeIt(t *testing.T) {
	for name, between := range map[string]time.Duration{"in one batch": 0, "in the queue": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := acting(t, time.Hour)
				defer s.run(&told{})()
				s.memory.Disconnect() // what is accepted stays on its way
				s.enqueue("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: "one"}, time.Now())
				time.Sleep(between)
				s.enqueue("work", "2", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "two"}, time.Now())
				s.enqueue("work", "3", ipc.Request{Type: ipc.TypeReact, Target: "1", Emoji: "👍"}, time.Now())
				s.enqueue("work", "4", ipc.Request{Type: ipc.TypeMessage, Text: "gone soon"}, time.Now())
				s.enqueue("work", "5", ipc.Request{Type: ipc.TypeUnsend, Target: "4"}, time.Now())
				s.enqueue("work", "6", ipc.Request{Type: ipc.TypeMessage, Text: "last"}, time.Now())
				time.Sleep(10 * time.Second)
				s.memory.Reconnect()
				time.Sleep(time.Hour)
				synctest.Wait()
				seen := s.memory.Shown("mem:work")
				if len(seen) != 3 || seen[0].Text != "two" || seen[0].Reaction != "👍" || !seen[1].Gone || seen[2].Text != "last" {
					t.Errorf("the chat shows %+v", seen)
				}
				for id, target := range map[string]int{"2": 0, "3": 0, "5": 1} {
					if r, _ := s.spool.Result("work", id); r.Status != ipc.Sent || r.MessageID != seen[target].ID {
						t.Errorf("request %s: %+v", id, r)
					}
				}
			})
		})
	}
}

// A change whose message is not sent says why.
func TestAChangeOfWhatIsNotSentFailsWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, time.Hour)
		defer s.run(&told{})()
		foreign := ipc.Request{Type: ipc.TypeMessage, Text: "x", Chat: "mem:ops"}
		s.enqueue("work", "1", foreign, time.Now())
		s.enqueue("work", "2", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "y"}, time.Now()) // refused in one batch
		time.Sleep(10 * time.Second)
		s.enqueue("work", "3", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "y"}, time.Now()) // or in an earlier one
		s.memory.Disconnect()
		s.enqueue("work", "4", ipc.Request{Type: ipc.TypeMessage, Text: "x"}, time.Now())
		s.enqueue("work", "5", ipc.Request{Type: ipc.TypeEdit, Target: "4", Text: "y"}, time.Now()) // dropped on its way
		time.Sleep(10 * time.Second)
		check(t, s.outbox.Cancel(t.Context(), "4"))
		s.memory.Reconnect()
		time.Sleep(time.Hour)
		synctest.Wait()
		for id, want := range map[string]struct {
			status ipc.Status
			reason string
		}{"2": {ipc.Refused, "may not send to"}, "3": {ipc.Refused, "may not send to"}, "5": {ipc.Failed, "the operator took it out"}} {
			if r, _ := s.spool.Result("work", id); r.Status != want.status || r.Code != records.CodeNotSent || !strings.Contains(r.Message, want.reason) || r.Hint == "" {
				t.Errorf("request %s: %+v", id, r)
			}
		}
		if n := len(s.memory.Shown("mem:work")); n != 0 {
			t.Errorf("the chat shows %d messages", n)
		}
	})
}

// A host that is killed between the message and its change makes both.
func TestAChangeOfAMessageOnItsWayOutlivesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, time.Hour)
		stop := s.run(&told{})
		s.memory.Disconnect()
		s.enqueue("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: "one"}, time.Now())
		s.enqueue("work", "2", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "two"}, time.Now())
		time.Sleep(10 * time.Second)
		stop()
		s.memory.Reconnect()
		defer s.run(&told{})()
		time.Sleep(time.Hour)
		synctest.Wait()
		if seen := s.memory.Shown("mem:work"); len(seen) != 1 || seen[0].Text != "two" {
			t.Errorf("the chat shows %+v", seen)
		}
	})
}

// A message that waits for a yes may never be sent, so its change does not wait for it.
func TestAChangeOfWhatWaitsForAYesSaysSo(t *testing.T) {
	s := acting(t, time.Hour)
	s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
	fates := s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "x", Chat: "mem:work"},
		ipc.Request{Type: ipc.TypeUnsend, Target: "0001", Chat: "mem:work"})
	if !fates[0].Accepted || fates[1].Refusal == nil || fates[1].Refusal.Code != "not_sent_yet" {
		t.Errorf("%+v", fates)
	}
}

// A reaction is one emoji, which a chat that waits for a yes would have had at once.
func TestAReactionInAnotherChatWaitsForAYes(t *testing.T) {
	s := acting(t, time.Hour)
	s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
	s.handle("family", ipc.Request{Type: ipc.TypeReact, Chat: "mem:work", Target: "a", Emoji: "👍"}, ipc.Request{Type: ipc.TypeReact, Chat: "mem:work", Target: "a"})
	for id, state := range map[string]records.State{"0001": records.Waiting, "0002": records.Queued} {
		if d, err := s.outbox.Get(t.Context(), id); err != nil || d.Parts[0].State != state {
			t.Errorf("%s: %+v, %v", id, d, err)
		}
	}
}

// nameless gives its messages no ids.
type nameless struct{ memory.Acting }

func (n nameless) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	r, err := n.Acting.Send(ctx, m)
	r.ID = ""
	return r, err
}

func TestAMessageWithoutAnIDOfItsPlatformCannotBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true})
		s := newSite(t, func(o *outbox.Options) {
			o.Channels = []channel.Channel{nameless{memory.Acting{Channel: m, Within: time.Hour}}}
		})
		s.memory = m
		defer s.run(&told{})()
		s.enqueue("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: "one"}, time.Now())
		time.Sleep(10 * time.Second)
		s.enqueue("work", "2", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "two"}, time.Now())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r, _ := s.spool.Result("work", "2"); r.Status != ipc.Refused || r.Code != "not_changeable" || r.Hint == "" {
			t.Errorf("%+v", r)
		}
	})
}
