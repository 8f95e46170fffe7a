package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestMain(m *testing.M) {
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

func newJournal(t *testing.T) *Journal {
	t.Helper()
	return opened(t, statetest.Open(t, t.TempDir()))
}

func opened(t *testing.T, db *state.DB) *Journal {
	t.Helper()
	j, err := Open(t.Context(), db, "slack", "slack-work", Options{})
	must(t, err)
	return j
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// done ends a message of which the host keeps nothing.
func done(t *testing.T, j *Journal, m *Inbound) {
	t.Helper()
	must(t, j.db.Do(t.Context(), entry{j, m.Seq}.Done, nil))
}

func from(chat groups.JID, sender, id, text string) Inbound {
	return Inbound{Chat: chat, ID: id, Sender: sender, Info: []byte("{}"), Body: []byte(text), Received: time.Now()}
}

func TestTheJournalForgetsWhatIsOldOrTooMuch(t *testing.T) {
	j, ctx, now := newJournal(t), t.Context(), time.Now()
	put := func(id string, age time.Duration, acked bool) {
		t.Helper()
		must(t, j.Record(ctx, Sent{ID: id, Chat: "1@g.us", Body: []byte(id), Created: now.Add(-age)}))
		if acked {
			must(t, j.Acknowledge(ctx, id, now))
		}
	}
	for i := range keepMessages + 5 {
		put(fmt.Sprintf("S%04d", i), time.Duration(keepMessages+5-i)*time.Second, true)
	}
	put("OLD", 8*24*time.Hour, true)
	put("OLD AND OPEN", 8*24*time.Hour, false)
	put("OPEN", 24*time.Hour, false)
	must(t, j.forgetOld(ctx))
	for id, want := range map[string]bool{"S0000": false, "S0020": true, fmt.Sprintf("S%04d", keepMessages+4): true, "OLD": false, "OLD AND OPEN": false, "OPEN": true} {
		m, err := j.Sent(ctx, id)
		if err != nil || (m != nil) != want {
			t.Errorf("%s is known: %t, %v; want %t", id, m != nil, err, want)
		}
	}
}

func TestAMessageIsInTheJournalOnceAndInOrder(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	put := func(chat groups.JID, id, sender, text string) {
		t.Helper()
		must(t, j.Keep(ctx, from(chat, sender, id, text)))
	}
	put("a@g.us", "1", "anna", "first")
	put("a@g.us", "1", "anna", "first again")
	put("a@g.us", "1", "bo", "somebody else's with the same id")
	put("b@g.us", "1", "anna", "elsewhere")
	var got []string
	for {
		m, err := j.Next(ctx, "a@g.us")
		must(t, err)
		if m == nil {
			break
		}
		got = append(got, string(m.Body))
		done(t, j, m)
	}
	if len(got) != 2 || got[0] != "first" || got[1] != "somebody else's with the same id" {
		t.Errorf("handed over: %q", got)
	}
	put("a@g.us", "1", "anna", "a repeat after it was kept")
	if m, err := j.Next(ctx, "a@g.us"); m != nil || err != nil {
		t.Errorf("a repeat is handed over: %v, %v", m, err)
	}
	if chats, err := j.Waiting(ctx); err != nil || len(chats) != 1 || chats[0] != "b@g.us" {
		t.Errorf("open chats: %v, %v", chats, err)
	}
	must(t, j.forgetOld(ctx))
	if m, err := j.Inbound(ctx, "a@g.us", "1"); m == nil || err != nil || string(m.Body) != got[1] {
		t.Errorf("what is done can no longer be quoted: %v", err)
	}
	for sender, want := range map[string]string{"anna": "first", "bo": got[1]} {
		if m, err := j.Inbound(ctx, "a@g.us", "1", "nobody", sender); err != nil || m == nil || string(m.Body) != want || m.Sender != sender {
			t.Errorf("of %s: %+v, %v", sender, m, err)
		}
	}
	if m, err := j.Inbound(ctx, "a@g.us", "1", "nobody"); m != nil || err != nil {
		t.Errorf("of nobody: %+v, %v", m, err)
	}
	m, err := j.Inbound(ctx, "a@g.us", "1", "anna")
	must(t, err)
	for ref, want := range map[string]bool{m.Ref(): true, "1 2": false, "7 1": false, "": false, "one": false} {
		if got, err := j.ByRef(ctx, "a@g.us", ref); err != nil || (got != nil) != want {
			t.Errorf("by %q: %+v, %v", ref, got, err)
		}
	}
	if got, err := j.ByRef(ctx, "b@g.us", m.Ref()); got != nil || err != nil {
		t.Errorf("from another chat: %+v, %v", got, err)
	}
	must(t, j.Clear(ctx))
	if m, err := j.ByRef(ctx, "a@g.us", m.Ref()); m != nil || err != nil {
		t.Errorf("cleared: %+v, %v", m, err)
	}
}

func TestARepeatedAttemptReplacesAndTheFirstWordCounts(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	first, second := time.Unix(1_800_000_000, 0), time.Unix(1_800_000_500, 0)
	for _, body := range []string{"one", "two"} {
		must(t, j.Record(ctx, Sent{ID: "S", Chat: "1@g.us", Body: []byte(body), Note: "as a document", Created: first}))
	}
	must(t, j.Acknowledge(ctx, "S", first))
	must(t, j.Acknowledge(ctx, "S", second))
	m, err := j.Sent(ctx, "S")
	if err != nil || string(m.Body) != "two" || m.Note != "as a document" || !m.Acked.Equal(first) || !m.Created.Equal(first) {
		t.Errorf("%+v, %v", m, err)
	}
}

// host takes messages as told.
type host struct {
	mu     sync.Mutex
	got    []string
	refuse map[string]bool
	news   chan struct{}
}

func (h *host) give(_ context.Context, _ channel.Inbox, m Inbound) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse[string(m.Body)] {
		return errors.New("not now")
	}
	h.got = append(h.got, string(m.Body))
	h.news <- struct{}{}
	return nil
}

func (h *host) wants(t *testing.T, want ...string) {
	t.Helper()
	for range want {
		select {
		case <-h.news:
		case <-time.After(time.Minute):
			t.Fatalf("came in: %q, want %q", h.got, want)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if fmt.Sprint(h.got) != fmt.Sprint(want) {
		t.Errorf("came in: %q, want %q", h.got, want)
	}
	h.got = nil
}

// hands runs Hand until stop.
func hands(t *testing.T, j *Journal, h *host) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); j.Hand(ctx, nil, h.give) }()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return stop
}

func TestWhatIsKeptIsHandedOverOnceAlsoByALaterHost(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	j, ctx := opened(t, db), t.Context()
	h := &host{refuse: map[string]bool{"3": true}, news: make(chan struct{}, 10)}
	must(t, j.Keep(ctx, from("a", "anna", "1", "1")))
	stop := hands(t, j, h)
	h.wants(t, "1")
	must(t, j.Keep(ctx, from("a", "anna", "2", "2")))
	h.wants(t, "2")
	must(t, j.Keep(ctx, from("a", "anna", "3", "3"))) // refused: what is behind it waits
	must(t, j.Keep(ctx, from("a", "anna", "4", "4")))
	must(t, j.Keep(ctx, from("b", "bo", "1", "elsewhere")))
	h.wants(t, "elsewhere")
	stop()
	h.refuse = nil
	j = opened(t, db)
	hands(t, j, h)
	h.wants(t, "3", "4")
	must(t, j.Keep(ctx, from("a", "anna", "2", "2")))
	must(t, j.Keep(ctx, from("a", "anna", "5", "5")))
	h.wants(t, "5")
}

// TestAMessageThatWasTakenAsTheHostStoppedCameAgain: its entry was left for the next look, which
// a host that stops did not make.
func TestAMessageThatWasTakenAsTheHostStoppedCameAgain(t *testing.T) {
	j := newJournal(t)
	must(t, j.Keep(t.Context(), from("a", "anna", "1", "1")))
	ctx, cancel := context.WithCancel(t.Context())
	j.Hand(ctx, nil, func(context.Context, channel.Inbox, Inbound) error { cancel(); return nil })
	if m, err := j.Next(t.Context(), "a"); m != nil || err != nil {
		t.Errorf("it waits again: %+v, %v", m, err)
	}
}

func TestWhatNobodyTakesForADayIsDropped(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	h := &host{refuse: map[string]bool{"old": true}, news: make(chan struct{}, 10)}
	old := from("a", "anna", "1", "old")
	old.Received = time.Now().Add(-giveUp - time.Minute)
	must(t, j.Keep(ctx, old))
	must(t, j.Keep(ctx, from("a", "anna", "2", "new")))
	hands(t, j, h)
	h.wants(t, "new")
}

// disk is full with an error.
type disk struct{ full error }

func (d disk) Room() error { return d.full }

// TestAFullDiskLeavesMessagesWithThePlatform: what is kept without end takes the
// room of the host's own records.
func TestAFullDiskLeavesMessagesWithThePlatform(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	full := errors.New("only 3 MiB of disk are free")
	j.Disk = disk{full}
	if err := j.Keep(ctx, from("a", "anna", "1", "1")); !errors.Is(err, ErrNoRoom) || !errors.Is(err, full) {
		t.Errorf("Keep on a full disk: %v", err)
	}
	if m, err := j.Next(ctx, "a"); m != nil || err != nil {
		t.Errorf("kept: %+v, %v", m, err)
	}
	j.Disk = disk{}
	must(t, j.Keep(ctx, from("a", "anna", "1", "1")))
}

// TestAFloodOfMessagesIsPruned: an hour is long enough for many.
func TestAFloodOfMessagesIsPruned(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	for i := range keepMessages + 2*pruneAfter {
		must(t, j.Keep(ctx, from("a", "anna", fmt.Sprint(i), "flood")))
		m, err := j.Next(ctx, "a")
		must(t, err)
		done(t, j, m)
	}
	var rows int
	must(t, j.db.QueryRow(`SELECT COUNT(*) FROM journal_inbound`).Scan(&rows))
	if rows > keepMessages+pruneAfter {
		t.Errorf("%d messages are kept", rows)
	}
}

// A webhook that was taken could have been sent once more after a thousand others.
func TestWhatIsFreshIsKnownAfterAFlood(t *testing.T) {
	j, ctx := newJournal(t), t.Context()
	j.Fresh = time.Minute
	for i := range keepMessages + 2*pruneAfter {
		must(t, j.Keep(ctx, from("a", "anna", fmt.Sprint(i), "flood")))
	}
	must(t, j.exec(ctx, "have all kept", `UPDATE journal_inbound SET state = 'done'`))
	must(t, j.forgetOld(ctx))
	for id, want := range map[string]bool{"0": false, "new": true} {
		if isNew, err := j.KeepNew(ctx, from("a", "anna", id, "once more")); err != nil || isNew != want {
			t.Errorf("%s is new: %t, %v", id, isNew, err)
		}
	}
}
