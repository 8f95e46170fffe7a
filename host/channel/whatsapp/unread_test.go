package whatsapp

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/state"
)

// annas is what the library knows of a message of Anna's in the group.
func annas(id string) types.MessageInfo {
	info := fuzzInfo(true, "Anna")
	return types.MessageInfo{ID: id, PushName: "Anna", Timestamp: info.Time, MessageSource: types.MessageSource{
		Chat: info.Chat, Sender: info.Sender, SenderAlt: info.Alt, IsGroup: true,
	}}
}

func annasMessage(id string, m *waE2E.Message) *events.Message {
	return (&events.Message{RawMessage: m, Info: annas(id)}).UnwrapRaw()
}

// handed are the kinds and texts of what the host gets, each once.
func handed(t *testing.T, s *session) (all []string) {
	t.Helper()
	for {
		m, err := messages.Read(s.messages.Next(t.Context(), fuzzGroup))
		must(t, err)
		if m == nil {
			return all
		}
		in := s.inbound(t.Context(), m)
		if in.From != "Anna" || in.Kind != channel.KindMessage {
			t.Errorf("came in %+v", in)
		}
		all = append(all, in.Told+": "+in.Text)
		must(t, s.w.opts.State.Do(t.Context(), func(t *state.Tx) error { return s.messages.Done(t, m.Seq) }, nil))
	}
}

const cannot = "sent something that cannot be shown here: a message that this device cannot read; the member can send it again"

// UndecryptableMessage had no case: such a message was silence.
func TestAMessageThatCannotBeReadIsToldAfterAMinute(t *testing.T) {
	s, start := fuzzSession(t), time.Now()
	s.noteUnread(&events.UndecryptableMessage{Info: annas("1")}, start)
	s.noteUnread(&events.UndecryptableMessage{Info: annas("2"), IsUnavailable: true, UnavailableType: events.UnavailableTypeViewOnce}, start)
	s.noteUnread(&events.UndecryptableMessage{Info: annas("3"), DecryptFailMode: events.DecryptFailHide}, start)
	s.noteUnread(&events.UndecryptableMessage{Info: annas(fuzzAnnas)}, start) // a copy of what was read
	s.noteUnread(&events.UndecryptableMessage{Info: annas("1")}, start.Add(50*time.Second))
	s.expireUnread(start.Add(59 * time.Second))
	if got := handed(t, s); got != nil {
		t.Errorf("in the first minute came in %q", got)
	}
	s.expireUnread(start.Add(time.Minute))
	want := []string{"undecryptable: " + cannot, "view_once: sent something that cannot be shown here: a picture, film or voice note to be viewed once, which only the phone shows"}
	got := handed(t, s)
	if len(got) == 2 && got[0] != want[0] {
		got[0], got[1] = got[1], got[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after a minute (-want +got):\n%s", diff)
	}
	s.expireUnread(start.Add(time.Hour))
	if !s.recordMessage(annasMessage("1", words("late"))) {
		t.Error("not kept")
	}
	if diff := cmp.Diff([]string{": late"}, handed(t, s)); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	if facts, err := s.messages.AllNoted(t.Context(), unreadFact); err != nil || len(facts) > 0 {
		t.Errorf("still noted: %v, %v", facts, err)
	}
}

// The keys of a message come apart from it, under the same id.
func TestAMessageThatCameAfterAllIsNotToldAsUnread(t *testing.T) {
	s, start := fuzzSession(t), time.Now()
	for _, id := range []string{"1", "2", "3"} {
		s.noteUnread(&events.UndecryptableMessage{Info: annas(id)}, start)
	}
	keys := &waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{GroupID: proto.String("g")}}
	for _, e := range []*events.Message{
		annasMessage("1", words("here I am")), annasMessage("2", keys),
		annasMessage("3", &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{}}), // which the host does not get
	} {
		if !s.recordMessage(e) {
			t.Error("not kept")
		}
	}
	s.expireUnread(start.Add(time.Hour))
	if diff := cmp.Diff([]string{": here I am", "undecryptable: " + cannot}, handed(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARestartDoesNotForgetAMessageThatCannotBeRead(t *testing.T) {
	s := fuzzSession(t)
	s.noteUnread(&events.UndecryptableMessage{Info: annas("1"), IsUnavailable: true, UnavailableType: "a new\nkind"}, time.Now())
	later := time.Now().Add(time.Hour)
	must(t, s.loadUnread(t.Context(), later))
	s.expireUnread(later.Add(59 * time.Second)) // WhatsApp may bring it now
	if got := handed(t, s); got != nil {
		t.Errorf("right after the restart came in %q", got)
	}
	s.expireUnread(later.Add(time.Minute))
	if diff := cmp.Diff([]string{"undecryptable: " + cannot}, handed(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFloodOfMessagesThatCannotBeReadIsBounded(t *testing.T) {
	s, start := fuzzSession(t), time.Now()
	for i := range maxUnread {
		s.unread.all[fmt.Sprint(i)] = waiting{since: start}
	}
	s.noteUnread(&events.UndecryptableMessage{Info: annas("1")}, start)
	if diff := cmp.Diff([]string{"undecryptable: " + cannot}, handed(t, s)); diff != "" || len(s.unread.all) > maxUnread {
		t.Errorf("%d are waited for; (-want +got):\n%s", len(s.unread.all), diff)
	}
}
