package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// linked is a delivery whose text has the address of a file.
func linked(t testing.TB, o *box, chat, name, content string, expires time.Time) records.Delivery {
	t.Helper()
	d := file(t, o, "fake:a", name, content)
	d.Parts = []records.Part{{Text: "fetch " + name, Link: &records.Link{ID: key(chat, name), Expires: expires, File: d.Parts[0].Files[0]}}}
	return d
}

func follow(t testing.TB, o *box, d records.Delivery) (string, error) {
	t.Helper()
	_, f, err := o.OpenLink(context.Background(), d.Parts[0].Link.ID)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

func wantGone(t testing.TB, o *box, d records.Delivery) {
	t.Helper()
	if _, err := follow(t, o, d); !errors.Is(err, records.ErrNoLink) {
		t.Errorf("followed: %v", err)
	}
	if all, err := o.Reader().Links(context.Background(), ""); err != nil || len(all) != 0 || len(blobs(t, o)) != 0 {
		t.Errorf("left: %+v, %v, files %q", all, err, blobs(t, o))
	}
}

// TestTheFileOfALinkGoesWithIt: it outlives its delivery and restarts, and no sweep takes it
// before the link expires.
func TestTheFileOfALinkGoesWithIt(t *testing.T) {
	for name, content := range map[string]string{"small": "bytes", "large": large("bytes")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fileGoesWithLink(t, content) })
		})
	}
}

func fileGoesWithLink(t *testing.T, content string) {
	ch := &fake{name: "fake"}
	dir, opts := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{Retention: time.Hour})}
	o := openAt(t, dir, opts)
	d := linked(t, o, "a", "big.bin", content, time.Now().Add(72*time.Hour))
	put(t, o, d)
	put(t, o, linked(t, o, "b", "big.bin", content, time.Now().Add(72*time.Hour))) // found again after a crash
	if len(blobs(t, o)) != 1 {
		t.Errorf("kept %q", blobs(t, o))
	}
	stop := run(t, o)
	time.Sleep(24 * time.Hour)
	synctest.Wait()
	stop()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = openAt(t, dir, opts)
	run(t, o)
	if ds, err := o.List(t.Context(), records.Filter{}); err != nil || len(ds) != 0 || len(ch.texts()) != 1 {
		t.Errorf("the delivery: %+v, %v, sent %q", ds, err, ch.texts())
	}
	if got, err := follow(t, o, d); got != content || err != nil {
		t.Errorf("after the delivery was forgotten: %d bytes, %v", len(got), err)
	}
	time.Sleep(48*time.Hour - time.Second)
	if got, err := follow(t, o, d); got != content || err != nil {
		t.Errorf("at its last second: %d bytes, %v", len(got), err)
	}
	time.Sleep(time.Second)
	if _, err := follow(t, o, d); !errors.Is(err, records.ErrNoLink) {
		t.Errorf("after its time: %v", err)
	}
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	wantGone(t, o, d)
}

// TestAKillWhileALinkEndsLeavesNothing tries each state that a kill leaves.
func TestAKillWhileALinkEndsLeavesNothing(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir, file string){
		"before the file went": func(t *testing.T, dir, _ string) { execute(t, statetest.Raw(t, dir), `UPDATE link SET ended = 1`) },
		"after the file went": func(t *testing.T, dir, file string) {
			execute(t, statetest.Raw(t, dir), `UPDATE link SET ended = 1`)
			removeFile(t, file)
		},
		"the file is lost": func(t *testing.T, _, file string) { removeFile(t, file) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, opts := t.TempDir(), outbox.Options{}
			o := openAt(t, dir, opts)
			d := linked(t, o, "a", "big.bin", large("bytes"), time.Now().Add(time.Hour))
			put(t, o, d)
			file := filepath.Join(dir, "blobs", d.Parts[0].Link.File.Blob)
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, dir, file)
			o = openAt(t, dir, opts)
			wantGone(t, o, d)
			if found, _ := filepath.Glob(filepath.Join(dir, "..", "aside", "*", "*")); len(found) != 0 {
				t.Errorf("moved aside: %q", found)
			}
		})
	}
}

func removeFile(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// TestALinkThatNobodyHasEndsWithItsMessage, and a message that failed is not tried again
// with a link that leads nowhere.
func TestALinkThatNobodyHasEndsWithItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fake{name: "fake"}
		ch.send = func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, permanent }
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{ch}})
		d := linked(t, o, "a", "one.bin", large("bytes"), time.Now().Add(time.Hour))
		put(t, o, d)
		if err := o.Cancel(t.Context(), d.Key); err != nil {
			t.Fatal(err)
		}
		wantGone(t, o, d)
		failed := linked(t, o, "a", "two.bin", large("bytes"), time.Now().Add(time.Hour))
		put(t, o, failed)
		run(t, o)
		b.settled(t, failed)
		if l := b.of(failed).Parts[0].Link; l == nil || l.File.Name != "two.bin" || !l.Expires.Equal(failed.Parts[0].Link.Expires) {
			t.Errorf("the result knows %+v", l)
		}
		time.Sleep(time.Hour)
		if err := o.Retry(t.Context(), failed.Key); !errors.Is(err, records.ErrNoBytes) {
			t.Errorf("retried: %v", err)
		}
	})
}

// TestALinkEndsWhenItsMessageIsDeleted: somebody sent the wrong file. Another chat's
// message of that id has nothing to do with it.
func TestALinkEndsWhenItsMessageIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		o := b.open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
		run(t, o)
		d := linked(t, o, "a", "wrong.bin", large("bytes"), time.Now().Add(100*time.Hour))
		put(t, o, d)
		b.settled(t, d)
		unsend := func(chat groups.JID) {
			u := text(chat, "unsend")
			u.Parts = []records.Part{{Act: &records.Act{Verb: records.VerbUnsend, Target: b.of(d).Parts[0].Receipt.ID}}}
			put(t, o, u)
		}
		unsend("fake:b")
		if _, err := follow(t, o, d); err != nil {
			t.Errorf("ended from another chat: %v", err)
		}
		unsend("fake:a")
		if _, err := follow(t, o, d); !errors.Is(err, records.ErrNoLink) {
			t.Errorf("followed: %v", err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		wantGone(t, o, d)
	})
}

// TestLinksHaveTheirOwnQuota for each group.
func TestLinksHaveTheirOwnQuota(t *testing.T) {
	o := open(t, outbox.Options{})
	d := linked(t, o, "a", "one.bin", strings.Repeat("x", 600), time.Now().Add(time.Hour))
	put(t, o, d)
	for _, tt := range []struct {
		folder      string
		ahead, size int64
		full        bool
	}{{d.Folder, 0, 400, false}, {d.Folder, 0, 401, true}, {d.Folder, 1, 400, true}, {"other", 0, 1000, false}} {
		err := o.RoomForLink(t.Context(), tt.folder, tt.ahead, tt.size, 1000)
		if _, full := errors.AsType[*outbox.LinkQuotaError](err); full != tt.full || !full && err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if err := o.EndLink(t.Context(), d.Parts[0].Link.ID); err != nil {
		t.Fatal(err)
	}
	if err := o.RoomForLink(t.Context(), d.Folder, 0, 1000, 1000); err != nil {
		t.Errorf("after it ended: %v", err)
	}
}

// TestTheEndOfManyLinksWasOneCommit, for which all others waited.
func TestTheEndOfManyLinksWasOneCommit(t *testing.T) {
	statetest.SQLiteOnly(t, "a trigger makes it fail")
	synctest.Test(t, func(t *testing.T) {
		o := open(t, outbox.Options{Channels: []channel.Channel{&fake{name: "fake"}}})
		var all []records.Delivery
		for i := range 150 {
			all = append(all, linked(t, o, fmt.Sprint("a", i), fmt.Sprint(i), fmt.Sprint("bytes", i), time.Now().Add(time.Minute)))
		}
		put(t, o, all...)
		execute(t, statetest.Raw(t, o.dir), `CREATE TRIGGER many BEFORE UPDATE ON link WHEN (SELECT count(*) FROM link WHERE ended = 1) >= 100 BEGIN SELECT RAISE(ABORT, 'too many'); END`)
		run(t, o)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		wantGone(t, o, all[0])
	})
}
