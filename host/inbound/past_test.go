package inbound

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func TestPastMessagesSurviveAStartAndFollowEditsAndDeletions(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	s := NewStore(db, "family", nil, nil)
	at := time.Now().Add(-time.Hour)
	message := func(id, text string) *Message {
		at = at.Add(time.Second)
		return &Message{Kind: KindCall, ID: id, From: "Ann", Text: text, Time: at}
	}
	remember(t, s, s.Remembering([]*Message{message("1", "one"), message("2", "two"), {Kind: KindNotice, Text: "the host's"}}))
	remember(t, s, s.Remembering([]*Message{message("3", "three"), message("2", "two")})) // a turn that was tried again
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindEdit, Target: "1", Text: "uno"}, ""))
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindDeletion, Target: "3"}, ""))
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindReaction, Target: "2", Emoji: "x"}, ""))
	s = NewStore(db, "family", nil, nil)
	remember(t, s, s.Remembering([]*Message{message("4", "four")}))
	old := message("5", "of long ago")
	old.Time = time.Now().Add(-pastAge - time.Hour)
	remember(t, s, s.Remembering([]*Message{old}))
	all, err := s.Past()
	var got []string
	for _, p := range all {
		got = append(got, p.ID+" "+p.Text)
	}
	if want := "1 uno, 2 two, 4 four"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	var words int
	if err := db.QueryRow(`SELECT COUNT(*) FROM inbound_past WHERE body LIKE '%three%'`).Scan(&words); err != nil || words != 0 {
		t.Errorf("what was deleted is kept in %d rows, %v", words, err)
	}
}

func remember(t *testing.T, s *Store, what Change) {
	t.Helper()
	if err := s.Do("remember", what); err != nil {
		t.Fatal(err)
	}
}

// Platforms tell times in seconds: what a member sent within one was listed backwards.
func TestMessagesOfOneSecondAreListedInTheirOrder(t *testing.T) {
	s := NewStore(statetest.Open(t, t.TempDir()), "family", nil, nil)
	at := time.Now().Truncate(time.Second)
	for _, id := range []string{"1", "2", "3"} {
		remember(t, s, s.Remembering([]*Message{{Kind: KindCall, ID: id, From: "Ann", Text: "x", Time: at}}))
	}
	if all, err := s.Past(); err != nil || len(all) != 3 || all[0].ID != "1" || all[2].ID != "3" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestPastMessagesTakeBoundedRoom(t *testing.T) {
	s := NewStore(statetest.Open(t, t.TempDir()), "family", nil, nil)
	long := strings.Repeat("x", 5000)
	all := make([]*Message, 0, 100)
	for i := range 3000 {
		all = append(all, &Message{Kind: KindCall, ID: fmt.Sprint(i), Text: long, Time: time.Now()})
		if len(all) == cap(all) {
			remember(t, s, s.Remembering(all))
			all = all[:0]
		}
	}
	past, err := s.Past()
	if n := len(past); err != nil || n < 500 || n > maxHistory || past[n-1].ID != "2999" || len(past[0].Text) > pastText+10 {
		t.Errorf("%d messages, %v", n, err)
	}
	var rows int
	if err := s.DB.QueryRow(`SELECT COUNT(*) FROM inbound_past`).Scan(&rows); err != nil || rows > 2*maxHistory {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// A member deletes or edits a message before a turn is given it, and another member
// cannot put words into its writer's mouth.
func TestADeletedMessageIsNotListedIfATurnIsGivenItLater(t *testing.T) {
	s := NewStore(statetest.Open(t, t.TempDir()), "family", nil, nil)
	at := time.Now().Add(-time.Hour)
	ann := func(id, text string) *Message {
		return &Message{Kind: KindCall, ID: id, From: "Ann", Sender: "ann", Text: text, Time: at}
	}
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindDeletion, Target: "1"}, "ann"))
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindEdit, Target: "1", Text: "back again"}, "ann"))
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindEdit, Target: "2", Text: "mended"}, "ann"))
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindEdit, Target: "3", Text: "forged"}, "bob"))
	remember(t, s, s.RememberingChange(channel.Inbound{Kind: channel.KindEdit, Target: "2", Text: "forged"}, "bob"))
	remember(t, s, s.Remembering([]*Message{ann("1", "secret"), ann("2", "draft"), ann("3", "her own")}))
	all, err := s.Past()
	if err != nil || len(all) != 2 || all[0].Text == all[1].Text {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, p := range all {
		if want := map[string]string{"2": "mended", "3": "her own"}[p.ID]; p.Text != want {
			t.Errorf("%s is %q, want %q", p.ID, p.Text, want)
		}
	}
}

// Fetches hold up the queue of the group that asks, so only some go at once.
func TestManyFetchesAtOnceAreRefusedForAMoment(t *testing.T) {
	f := &Fetcher{bringing: make(chan struct{}, 1)}
	f.bringing <- struct{}{}
	b := &Inbox{f: f, store: NewStore(statetest.Open(t, t.TempDir()), "family", nil, nil)}
	_, err := b.Bring(t.Context(), File{Ref: "r"})
	if r := refusal.Of(err); r == nil || r.Code != "fetch_busy" || r.Hint == "" {
		t.Errorf("%v", err)
	}
}
