package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// acting is a site whose channel can change what it has sent, within that time.
func acting(t *testing.T, within time.Duration) *site {
	m := memory.New(memory.Options{Online: true})
	s := newSite(t, func(o *outbox.Options) { o.Channels = []channel.Channel{memory.Acting{Channel: m, Within: within}} })
	s.memory = m
	return s
}

// after carries a request, and says what is in its result then.
func (s *site) after(folder, id string, r ipc.Request) ipc.Result {
	s.t.Helper()
	s.enqueue(folder, id, r, time.Now())
	synctest.Wait()
	time.Sleep(10 * time.Second) // of the bubble: a rescan of the queue
	synctest.Wait()
	result, ok := s.spool.Result(folder, id)
	if !ok {
		s.t.Fatalf("request %s has no result", id)
	}
	return result
}

func TestAnAssistantEditsReactsAndUnsendsByTheIdThatASendReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, 0)
		defer s.run(&told{})()
		sent := s.after("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: "10 %"})
		for i, r := range []ipc.Request{
			{Type: ipc.TypeEdit, Target: sent.MessageID, Text: "50 %"},
			{Type: ipc.TypeEdit, Target: "1", Text: "100 %"}, // by the request's id
			{Type: ipc.TypeReact, Target: sent.MessageID, Emoji: "👍"},
		} {
			if got := s.after("work", string(rune('a'+i)), r); got.Status != ipc.Sent || got.MessageID != sent.MessageID {
				t.Errorf("%s: %+v", r.Type, got)
			}
		}
		seen := s.memory.Shown("mem:work")
		if len(seen) != 1 || seen[0].Text != "100 %" || seen[0].Edits != 2 || seen[0].Reaction != "👍" {
			t.Errorf("the chat shows %+v", seen)
		}
		if got := s.after("work", "u", ipc.Request{Type: ipc.TypeUnsend, Target: sent.MessageID}); got.Status != ipc.Sent {
			t.Errorf("unsend: %+v", got)
		}
		if seen := s.memory.Shown("mem:work"); !seen[0].Gone {
			t.Errorf("the chat still shows %+v", seen)
		}
	})
}

// The platform answered nothing: whether the text was replaced, nobody knows. It is
// replaced again, which shows nothing new, and what comes behind it stays behind it.
func TestAnEditWhoseAnswerIsLostIsMadeAgainInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, 0)
		defer s.run(&told{})()
		s.after("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: "first"})
		s.memory.Next(memory.AmbiguousAfter())
		s.enqueue("work", "2", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "second"}, time.Now())
		if got := s.after("work", "3", ipc.Request{Type: ipc.TypeEdit, Target: "1", Text: "third"}); got.Status != ipc.Sent {
			t.Errorf("%+v", got)
		}
		if r, _ := s.spool.Result("work", "2"); r.Status != ipc.Sent {
			t.Errorf("the edit without an answer: %+v", r)
		}
		if seen := s.memory.Shown("mem:work"); seen[0].Text != "third" || seen[0].Edits != 2 {
			t.Errorf("the chat shows %+v", seen)
		}
	})
}

func TestWhatMayNotBeChangedIsRefusedWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, time.Hour)
		defer s.run(&told{})()
		s.after("ops", "theirs", ipc.Request{Type: ipc.TypeMessage, Chat: "mem:work", Text: "from main"})
		s.after("work", "mine", ipc.Request{Type: ipc.TypeMessage, Text: "mine"})
		theirs := s.memory.Shown("mem:work")[0].ID
		long := make([]byte, 20_000)
		for i := range long {
			long[i] = 'x'
		}
		for i, tt := range []struct {
			name string
			r    ipc.Request
			want string
		}{
			{"nobody's message", ipc.Request{Type: ipc.TypeEdit, Target: "MEM9", Text: "x"}, "unknown_message"},
			{"another chat's message", ipc.Request{Type: ipc.TypeUnsend, Target: "theirs"}, "unknown_message"},
			{"main's message", ipc.Request{Type: ipc.TypeUnsend, Target: theirs}, "not_your_message"},
			{"too long a text", ipc.Request{Type: ipc.TypeEdit, Target: "mine", Text: string(long)}, "text_too_long"},
			{"main's chat", ipc.Request{Type: ipc.TypeReact, Chat: "mem:ops", Target: "1", Emoji: "👍"}, groups.CodeChatNotAllowed},
		} {
			if got := s.after("work", string(rune('a'+i)), tt.r); got.Status != ipc.Refused || got.Code != tt.want || got.Hint == "" {
				t.Errorf("%s: %+v", tt.name, got)
			}
		}
		s.after("work", "long", ipc.Request{Type: ipc.TypeMessage, Text: string(long)})
		if got := s.after("work", "which", ipc.Request{Type: ipc.TypeEdit, Target: "long", Text: "x"}); got.Code != "several_messages" || got.Hint == "" {
			t.Errorf("a request of several messages: %+v", got)
		}
		s.memory.Disconnect()
		s.after("work", "waits", ipc.Request{Type: ipc.TypeMessage, Text: "waits"})
		s.memory.Reconnect()
		time.Sleep(2 * time.Hour)
		if got := s.after("work", "late", ipc.Request{Type: ipc.TypeEdit, Target: "mine", Text: "x"}); got.Code != "too_late" {
			t.Errorf("two hours later: %+v", got)
		}
		if got := s.after("work", "late-react", ipc.Request{Type: ipc.TypeReact, Target: "mine", Emoji: "👍"}); got.Status == ipc.Refused {
			t.Errorf("a reaction has no end: %+v", got)
		}
	})
}

// standIn is a channel that is down.
type standIn struct{ *memory.Channel }

func (standIn) Held() error { return &channel.Error{Class: channel.Held, Code: "channel_down"} }

func (s standIn) Run(ctx context.Context, _ channel.Inbox) error {
	<-ctx.Done()
	return nil
}

// While a channel was down, an assistant read that the channel cannot edit, react or unsend.
func TestAChannelThatIsDownWasOneThatCannotChangeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{Online: true})
		up := memory.Acting{Channel: m, Within: time.Hour}
		h := channel.NewHolder(up)
		s := newSite(t, func(o *outbox.Options) { o.Channels = []channel.Channel{h} })
		s.memory = m
		defer s.run(&told{})()
		sent := s.after("work", "1", ipc.Request{Type: ipc.TypeMessage, Text: "10 %"})
		h.Replace(standIn{m})
		for i, r := range []ipc.Request{
			{Type: ipc.TypeEdit, Target: sent.MessageID, Text: "50 %"}, {Type: ipc.TypeReact, Target: sent.MessageID, Emoji: "👍"},
		} {
			id := string(rune('a' + i))
			s.enqueue("work", id, r, time.Now())
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if got, _ := s.spool.Result("work", id); got.Status == ipc.Refused {
				t.Errorf("%s: %+v", r.Type, got)
			}
		}
		h.Replace(up)
		time.Sleep(time.Hour)
		synctest.Wait()
		if seen := s.memory.Shown("mem:work"); len(seen) != 1 || seen[0].Text != "50 %" || seen[0].Reaction != "👍" {
			t.Errorf("the chat shows %+v", seen)
		}
	})
}

func TestAChannelWithoutAChangeRefusesIt(t *testing.T) {
	s := newSite(t)
	for _, r := range []ipc.Request{
		{Type: ipc.TypeEdit, Target: "1", Text: "x"}, {Type: ipc.TypeReact, Target: "1"}, {Type: ipc.TypeUnsend, Target: "1"},
	} {
		if f := s.handle("work", r)[0]; f.Refusal == nil || f.Refusal.Code != "not_supported" {
			t.Errorf("%s: %+v", r.Type, f)
		}
	}
}

// The chat was away while an edit waited. It went out after the platform's window, and
// was called sent, though the apps no longer showed it.
func TestAChangeThatWaitedBeyondItsWindowIsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, 15*time.Minute)
		defer s.run(&told{})()
		sent := s.after("work", "m", ipc.Request{Type: ipc.TypeMessage, Text: "one"})
		s.memory.Disconnect()
		s.enqueue("work", "e", ipc.Request{Type: ipc.TypeEdit, Target: sent.MessageID, Text: "two"}, time.Now())
		time.Sleep(20 * time.Minute)
		s.memory.Reconnect()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if r, _ := s.spool.Result("work", "e"); r.Status != ipc.Failed || r.Code != "too_late" || r.Hint == "" {
			t.Errorf("%+v", r)
		}
		if seen := s.memory.Shown("mem:work"); len(seen) != 1 || seen[0].Text != "one" {
			t.Errorf("the chat shows %+v", seen)
		}
	})
}
