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
	"github.com/longshore-bridge/longshore/host/store"
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
	if p.State != outbox.Sent || len(p.Files) != 2 || p.Files[1].Name != "b.txt" || p.Files[1].Blob != "" || len(blobs(t, o)) != 0 {
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
	b, opts := newBook(), outbox.Options{Dir: t.TempDir(), Channels: []channel.Channel{&fake{name: "fake"}}}
	o, err := outbox.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	d, second := file(t, o, "fake:a", "a.txt", "one"), file(t, o, "fake:a", "b.txt", large("second"))
	d.Parts[0].Files = append(d.Parts[0].Files, second.Parts[0].Files...)
	put(t, o, d)
	o.Discard(outbox.Blob{Name: second.Parts[0].Files[0].Blob})
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = b.open(t, opts)
	got, err := o.Get(t.Context(), d.Key)
	if err != nil || got.Parts[0].State != outbox.Failed || got.Parts[0].Code != "lost_bytes" || len(blobs(t, o)) != 0 {
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
		b, opts := newBook(), outbox.Options{Dir: t.TempDir(), Channels: []channel.Channel{ch}}
		o, err := outbox.Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
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
		o = b.open(t, opts)
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
		db := sqlite(t, o.Dir())
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

//go:embed testdata/schema-2.sql
var schema2 string

// TestAnOutboxOfVersion2KeepsItsFiles opens what the program before wrote, when
// a part had one file, first only to look.
func TestAnOutboxOfVersion2KeepsItsFiles(t *testing.T) {
	var got string
	ch := &fake{name: "fake"}
	ch.send = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if len(m.Files) != 1 || m.Thread != "" || m.State != nil {
			t.Errorf("sent as %+v", m)
			return channel.Receipt{}, permanent
		}
		content, err := read(m.Files[0])
		got = m.Files[0].Name + ": " + content
		return channel.Receipt{}, err
	}
	dir := t.TempDir()
	opts := outbox.Options{Dir: dir, Channels: []channel.Channel{ch}}
	o, err := outbox.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	d := file(t, o, "fake:a", "a.txt", large("the bytes"))
	f := d.Parts[0].Files[0]
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	db := sqlite(t, dir)
	execute(t, db, "DROP TABLE delivery; DROP TABLE part; DROP TABLE hold; DROP TABLE bytes; DROP TABLE vote; DROP TABLE link; DROP TABLE approval; "+schema2+" PRAGMA user_version = 2;")
	execute(t, db, `INSERT INTO delivery (id, key, turn, folder, request, channel, chat, created, held, changed, open)
		VALUES (1, ?, 1, ?, ?, 'fake', 'fake:a', unixepoch() * 1000000000, 0, 0, 1)`, d.Key, d.Folder, d.Request)
	execute(t, db, `INSERT INTO part (delivery, position, message_id, text, reply_to, file, size, blob, state)
		VALUES (1, 0, '00', 'a.txt', '', ?1, ?1 ->> 'size', ?2, 'queued')`,
		fmt.Sprintf(`{"name":"a.txt","kind":"document","mime":"text/plain","size":%d,"sha256":"%s"}`, f.Size, f.SHA256), f.Blob)
	r, err := outbox.OpenReader(t.Context(), outbox.Store(dir, store.Home{}))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := r.List(t.Context(), outbox.Filter{})
	if err != nil || len(seen) != 1 {
		t.Fatalf("a look shows %+v, %v", seen, err)
	}
	if diff := cmp.Diff(d.Parts[0].Files, seen[0].Parts[0].Files); diff != "" {
		t.Error(diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if v := version(t, db); v != 2 {
		t.Errorf("a look made version %d of it", v)
	}
	b := newBook()
	o = b.open(t, opts)
	stop := run(t, o)
	b.settled(t, d)
	stop() // the bytes go after the record
	if p := b.of(d).Parts[0]; p.State != outbox.Sent || got != "a.txt: "+large("the bytes") || len(blobs(t, o)) != 0 {
		t.Errorf("%q arrived, settled as %+v", got, p)
	}
	if v := version(t, db); v != 9 {
		t.Errorf("opened as version %d", v)
	}
}
