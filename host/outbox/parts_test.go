package outbox_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

func TestFilesOfAPartGoInOneMessageAndItsThread(t *testing.T) {
	var got []string
	ch := &fake{name: "fake", threads: true}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		got = append(got, m.Thread, m.Text)
		for _, f := range m.Files {
			content, err := read(f)
			if err != nil {
				return channel.Receipt{}, err
			}
			got = append(got, f.Name, content)
		}
		if len(ch.calls()) == 1 {
			return channel.Receipt{}, passing
		}
		return channel.Receipt{ID: "album"}, nil
	}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	d, second := file(t, o, "fake:a", "a.txt", "one"), file(t, o, "fake:a", "b.txt", "second")
	d.Thread = "t-1"
	d.Parts[0].Files = append(d.Parts[0].Files, second.Parts[0].Files...)
	put(t, o, d)
	if s, err := o.Stats(t.Context()); err != nil || s.Pending != 1 || s.Bytes != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	stop := run(t, o)
	b.settled(t, d)
	stop()
	want := []string{"t-1", "a.txt", "a.txt", "one", "b.txt", "second"}
	if diff := cmp.Diff(append(want, want...), got); diff != "" {
		t.Error(diff)
	}
	p := b.of(d).Parts[0]
	if p.State != records.Sent || len(p.Files) != 2 || p.Files[1].Name != "b.txt" || p.Files[1].Blob != "" || len(blobs(t, o)) != 0 {
		t.Errorf("settled as %+v; %d blobs are left", p, len(blobs(t, o)))
	}
}

func TestAChatWithoutThreadsGetsTheMessageItself(t *testing.T) {
	ch := &fake{name: "fake"}
	b := newBook()
	o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
	d := text("fake:a", "x")
	d.Thread = "t-1"
	put(t, o, d)
	stop := run(t, o)
	b.settled(t, d)
	stop()
	if p := b.of(d).Parts[0]; ch.calls()[0].m.Thread != "" || !strings.Contains(p.Receipt.Note, "no threads") {
		t.Errorf("sent as %+v, settled as %+v", ch.calls()[0].m, p)
	}
}

// A blob of an album is gone: the album is not sent without it.
func TestAnAlbumThatLostAFileFails(t *testing.T) {
	b, dir, opts := newBook(), t.TempDir(), outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}}
	o := openAt(t, dir, opts)
	d, second := file(t, o, "fake:a", "a.txt", "one"), file(t, o, "fake:a", "b.txt", large("second"))
	d.Parts[0].Files = append(d.Parts[0].Files, second.Parts[0].Files...)
	put(t, o, d)
	o.Discard(outbox.Blob{Name: second.Parts[0].Files[0].Blob})
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = b.openAt(t, dir, opts)
	got, err := o.Get(t.Context(), d.Key)
	if err != nil || got.Parts[0].State != records.Failed || got.Parts[0].Code != "lost_bytes" || len(blobs(t, o)) != 0 {
		t.Errorf("%+v, %v, kept %v", got, err, blobs(t, o))
	}
}

func TestTheNextAttemptHasWhatTheLastOneSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var states []string
		ch := &fake{name: "fake"}
		ch.send = func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			states = append(states, string(m.State))
			if err := m.Save(ctx, make([]byte, channel.MaxState+1)); err == nil {
				t.Error("a state of any size is kept")
			}
			for _, step := range []string{"begun", m.Text + " uploaded " + strings.Repeat("I", len(states))} {
				if err := m.Save(ctx, []byte(step)); err != nil {
					t.Error(err)
				}
			}
			switch len(states) {
			case 1:
				return channel.Receipt{}, passing
			case 2:
				<-ctx.Done() // the host ends
				return channel.Receipt{}, ctx.Err()
			}
			return channel.Receipt{ID: "r"}, nil
		}
		b, dir, opts := newBook(), t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
		o := openAt(t, dir, opts)
		b.o = o
		d := text("fake:a", "x", "y")
		put(t, o, d)
		stop := run(t, o)
		time.Sleep(10 * time.Second) // in a bubble: past the first pause
		synctest.Wait()
		stop()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		o = b.openAt(t, dir, opts)
		run(t, o)
		b.settled(t, d)
		if diff := cmp.Diff([]string{"", "x uploaded I", "x uploaded II", ""}, states); diff != "" {
			t.Error(diff)
		}
		if p := b.of(d).Parts[0]; p.Saved != nil {
			t.Errorf("what was sent still has %q", p.Saved)
		}
	})
}

// While the disk took no outcomes, the outcome of the attempt before was recorded
// late, and put what that attempt had saved over what the next one saved.
func TestALateOutcomeKeepsWhatTheNextAttemptSaved(t *testing.T) {
	statetest.SQLiteOnly(t, "a trigger makes it fail")
	synctest.Test(t, func(t *testing.T) {
		attempts, cut := 0, errors.New("cut off")
		ch := &fake{name: "fake"}
		ch.send = func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			attempts++
			if err := m.Save(ctx, fmt.Append(nil, "step ", attempts)); err != nil {
				t.Error(err)
			}
			if attempts == 1 {
				return channel.Receipt{}, passing
			}
			<-ctx.Done() // the host ends
			return channel.Receipt{}, cut
		}
		o := open(t, outbox.Options{Channels: []channel.Channel{ch}})
		db := statetest.Raw(t, o.dir)
		execute(t, db, `CREATE TRIGGER full BEFORE UPDATE OF state ON part BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
		put(t, o, text("fake:a", "x"))
		run(t, o)
		time.Sleep(5 * time.Second)
		execute(t, db, "DROP TRIGGER full")
		time.Sleep(20 * time.Second) // in a bubble: the outcome is recorded by now
		synctest.Wait()
		var saved, code string
		err := db.QueryRow("SELECT saved, code FROM part").Scan(&saved, &code)
		if err != nil || saved != "step 2" || code != "send_failed" || attempts != 2 {
			t.Errorf("after %d attempts, %q and the outcome %q are kept: %v", attempts, saved, code, err)
		}
	})
}
