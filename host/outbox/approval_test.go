package outbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// marked is a text that waits for an approval.
func marked(words string) records.Delivery {
	d := text("fake:1", words)
	d.Approval = &records.Ask{Rule: "approve.foreign", Expires: time.Now().Add(24 * time.Hour)}
	return d
}

// TestAWaitingDeliveryHoldsNothingUpAndGoesBehindWhatWaits: what waits for an approval is
// passed by later messages, and takes its place after the yes.
func TestAWaitingDeliveryHoldsNothingUpAndGoesBehindWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, b := &fake{name: "fake"}, newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		run(t, o)
		first, second, third := marked("first"), text("fake:1", "second"), text("fake:1", "third")
		put(t, o, first, second)
		b.settled(t, second)
		switch p := b.of(first).Parts[0]; {
		case p.State != records.Waiting || p.Code != records.CodeAwaiting || !strings.Contains(p.Message, "approve.foreign"):
			t.Errorf("while it waits: %+v", p)
		}
		if err := o.Decide(t.Context(), first.Key, true, "operator"); err != nil {
			t.Fatal(err)
		}
		put(t, o, third)
		b.settled(t, first, third)
		if diff := cmp.Diff([]string{"second", "first", "third"}, ch.texts()); diff != "" {
			t.Error(diff)
		}
		if p := b.of(first).Parts[0]; p.State != records.Sent || p.Code != "" || p.Message != "" {
			t.Errorf("in the end: %+v", p)
		}
		if err := o.Decide(t.Context(), first.Key, false, "operator"); !errors.Is(err, records.ErrDecided) {
			t.Errorf("a second answer: %v", err)
		}
	})
}

// TestWhatNobodyApprovesIsRefusedAndItsBytesAreGone: by a no, by an operator's drop, and by time.
func TestWhatNobodyApprovesIsRefusedAndItsBytesAreGone(t *testing.T) {
	answers := map[string]string{"no": "no", "drop": "no", "time": "none"}
	for name, end := range map[string]func(t *testing.T, o *box, d records.Delivery) (code string){
		"no": func(t *testing.T, o *box, d records.Delivery) string {
			if err := o.Decide(t.Context(), d.Key, false, "operator"); err != nil {
				t.Error(err)
			}
			return records.CodeNotApproved
		},
		"drop": func(t *testing.T, o *box, d records.Delivery) string {
			if err := o.Cancel(t.Context(), d.Key); err != nil {
				t.Error(err)
			}
			return records.CodeNotApproved
		},
		"time": func(t *testing.T, o *box, d records.Delivery) string {
			time.Sleep(24*time.Hour + time.Second)
			if err := o.Decide(t.Context(), d.Key, true, "operator"); !errors.Is(err, records.ErrDecided) {
				t.Errorf("a yes after the end: %v", err)
			}
			return records.CodeApprovalExpired
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch, b := &fake{name: "fake"}, newBook()
				o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
				run(t, o)
				d := file(t, o, "fake:1", "report", large("report"))
				d.Approval = &records.Ask{Rule: "approve.above", Expires: time.Now().Add(24 * time.Hour)}
				put(t, o, d)
				synctest.Wait()
				if s := stats(t, o); s.Waiting != 1 || s.Pending != 1 || s.Bytes != int64(len(large("report"))) {
					t.Errorf("while it waits: %+v", s)
				}
				code := end(t, o, d)
				b.settled(t, d)
				if p := b.of(d).Parts[0]; p.State != records.Refused || p.Code != code || p.Files[0].Blob != "" {
					t.Errorf("in the end: %+v", p)
				}
				if s := stats(t, o); s.Waiting != 0 || s.Pending != 0 || s.Bytes != 0 || s.Retained != 0 || s.Answers[answers[name]] != 1 || len(ch.texts()) != 0 {
					t.Errorf("in the end: %+v, sent %q", s, ch.texts())
				}
				if err := o.Retry(t.Context(), d.Key); !errors.Is(err, records.ErrSettled) {
					t.Errorf("a retry of what was refused: %v", err)
				}
			})
		})
	}
}

// TestAnApprovalOutlivesAHost: what waits is kept with its bytes and counts against the
// group's quota, however old it is, and is refused by the next host if its time is over.
func TestAnApprovalOutlivesAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, ch := t.TempDir(), &fake{name: "fake"}
		options := outbox.Options{Channels: []channel.Channel{ch}, Settings: outbox.Fixed{Limits: outbox.Limits{Retention: time.Hour}}}
		o := openAt(t, dir, options)
		stop := run(t, o)
		d, late := file(t, o, "fake:1", "report", large("report")), marked("late")
		d.Approval = &records.Ask{Rule: "approve.above", Expires: time.Now().Add(240 * time.Hour)}
		put(t, o, d, late)
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Hour)

		b := newBook()
		o = b.openAt(t, dir, options)
		run(t, o)
		b.settled(t, late)
		if p := b.of(late).Parts[0]; p.Code != records.CodeApprovalExpired {
			t.Errorf("what expired while no host ran: %+v", p)
		}
		if s := stats(t, o); s.Pending != 1 || s.Bytes != int64(len(large("report"))) || s.Retained != 0 {
			t.Errorf("after the restart: %+v", s)
		}
		waiting, err := o.List(t.Context(), records.Filter{State: records.FilterWaiting})
		if err != nil || len(waiting) != 1 || waiting[0].Key != d.Key {
			t.Errorf("waiting: %v, %v", waiting, err)
		}
		if err := o.Decide(t.Context(), d.Key, true, "operator"); err != nil {
			t.Fatal(err)
		}
		b.settled(t, d)
		if p := b.of(d).Parts[0]; p.State != records.Sent {
			t.Errorf("approved after 100 hours: %+v", p)
		}
	})
}

// TestOfTwoAnswersAtOnceOneCounts also if they differ.
func TestOfTwoAnswersAtOnceOneCounts(t *testing.T) {
	ch, b := &fake{name: "fake"}, newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	run(t, o)
	for i := range 20 {
		d := marked("m" + strings.Repeat("m", i))
		put(t, o, d)
		var yes, no atomic.Int32
		var both sync.WaitGroup
		for _, is := range []bool{true, false, true, false} {
			both.Go(func() {
				switch err := o.Decide(t.Context(), d.Key, is, "operator"); {
				case err == nil && is:
					yes.Add(1)
				case err == nil:
					no.Add(1)
				case !errors.Is(err, records.ErrDecided):
					t.Error(err)
				}
			})
		}
		both.Wait()
		b.settled(t, d)
		sent := slices.Contains(ch.texts(), d.Parts[0].Text)
		if yes.Load()+no.Load() != 1 || sent != (yes.Load() == 1) {
			t.Fatalf("%d times yes, %d times no, sent: %v", yes.Load(), no.Load(), sent)
		}
	}
}

// TestAFileThatIsLostWhileItWaitsFails and does not wait for ever.
func TestAFileThatIsLostWhileItWaitsFails(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir, outbox.Options{})
	d := file(t, o, "fake:1", "report", large("report"))
	d.Approval = &records.Ask{Rule: "approve.above", Expires: time.Now().Add(time.Hour)}
	put(t, o, d)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "blobs", d.Parts[0].Files[0].Blob)); err != nil {
		t.Fatal(err)
	}
	o = openAt(t, dir, outbox.Options{})
	got, err := o.Get(t.Context(), d.Key)
	if err != nil || got.Parts[0].State != records.Failed || got.Parts[0].Code != "lost_bytes" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := o.Decide(t.Context(), d.Key, true, "operator"); !errors.Is(err, records.ErrDecided) {
		t.Errorf("a yes to what is lost: %v", err)
	}
	if s := stats(t, o); s.Waiting != 0 || s.Pending != 0 || s.Answers["lost"] != 1 {
		t.Errorf("%+v", s)
	}
}

// vote is a yes in a poll.
func vote(poll string) *channel.Inbound {
	return &channel.Inbound{Kind: channel.KindVote, Target: poll, Choices: []string{"yes"}}
}

func stats(t *testing.T, o *box) outbox.Stats {
	t.Helper()
	s, err := o.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAPollForAnApprovalIsNoQuestionOfTheGroup: it takes no place of the group's
// questions, its votes lead to the approval, and it outlives a restart after days.
func TestAPollForAnApprovalIsNoQuestionOfTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, options := t.TempDir(), outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}}
		o := openAt(t, dir, options)
		b := newBook()
		b.o = o
		stop := run(t, o)
		waits := marked("report")
		waits.Approval.Expires = time.Now().Add(100 * time.Hour)
		put(t, o, waits)
		a, err := o.Reader().Approval(t.Context(), waits.Key)
		if err != nil || a.Rule != "approve.foreign" || len(a.ID) != 32 || !a.Expires.Equal(waits.Approval.Expires) {
			t.Fatalf("%+v, %v", a, err)
		}
		poll := text("fake:ops", "may it go?")
		poll.Parts[0].Question = &records.Question{Choices: []string{"yes", "no"}, Until: a.Expires, Ask: a.ID}
		put(t, o, poll)
		b.settled(t, poll)
		receipt := b.of(poll).Parts[0].Receipt.ID
		for _, days := range []int{0, 3} {
			stop()
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(days) * 24 * time.Hour)
			o = openAt(t, dir, options)
			stop = run(t, o)
			asked, err := o.Asked(t.Context(), poll.Address(), vote(receipt))
			if err != nil || asked.ID != a.ID {
				t.Fatalf("after %d days: %+v, %v", days, asked, err)
			}
			if n, err := o.Reader().OpenAsks(t.Context(), poll.Folder, records.PolicyQuestion, time.Now()); n != 0 || err != nil {
				t.Errorf("after %d days: %d questions, %v", days, n, err)
			}
		}
		if a, err := o.Asked(t.Context(), poll.Address(), vote("another")); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("another poll: %+v, %v", a, err)
		}
		if a, err := o.Reader().Ask(t.Context(), a.ID); err != nil || a.Key != waits.Key {
			t.Errorf("its delivery: %+v, %v", a, err)
		}
		if _, err := o.Reader().Ask(t.Context(), strings.Repeat("0", 32)); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("a guessed id: %v", err)
		}
		stop()
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestWhatWaitsInABackupIsAskedAboutBeforeItIsSent: it may have been approved and sent
// after the backup was taken, so a second yes does not show it twice.
func TestWhatWaitsInABackupIsAskedAboutBeforeItIsSent(t *testing.T) {
	f := &fake{name: "fake"}
	ch := &finding{f, func(m channel.Message) (*channel.Receipt, error) { return &channel.Receipt{ID: m.ID}, nil }}
	dir, options := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
	o := openAt(t, dir, options)
	d := marked("report")
	put(t, o, d)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	restored(t, dir, 1)
	b := newBook()
	o = b.openAt(t, dir, options)
	run(t, o)
	if err := o.Decide(t.Context(), d.Key, true, "operator"); err != nil {
		t.Fatal(err)
	}
	b.settled(t, d)
	if p := b.of(d).Parts[0]; p.State != records.Sent || len(f.texts()) != 0 {
		t.Errorf("%+v, sent %q", p, f.texts())
	}
}
