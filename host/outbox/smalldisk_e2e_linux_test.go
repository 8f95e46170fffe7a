//go:build e2e && linux

package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestFullDiskLosesNothing lets a small file system run full at ever new
// places, and wants what was accepted sent once there is room.
func TestFullDiskLosesNothing(t *testing.T) {
	mount := fstest.SmallDisk(t, "4m")
	told := newBook()
	ch := &fake{name: "fake"}
	o := told.openAt(t, filepath.Join(mount, "state"), outbox.Options{Channels: []channel.Channel{ch}, Settings: limits(outbox.Limits{FreeDisk: -1})})
	stop := run(t, o)
	var accepted []records.Delivery
	refused := 0
	for round := range 60 {
		ballast := fill(t, mount, int64(round*1500))
		for i := range 10 {
			content := strings.Repeat("x", 3500*i) // some are small
			b, err := o.Copy(context.Background(), strings.NewReader(content), int64(len(content)))
			if err != nil {
				refused++
				continue
			}
			d := text(groups.JID(fmt.Sprint("fake:", i%3)), fmt.Sprint(round, "-", i))
			d.Parts[0].Files = []records.File{{SHA256: b.SHA256, Blob: b.Name, Bytes: b.Bytes}}
			d.Parts[0].Files[0].Size = b.Size
			if err := o.Put(context.Background(), []records.Delivery{d}); err != nil {
				refused++
				continue
			}
			accepted = append(accepted, d)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	told.settled(t, accepted...)
	stop()
	times := map[string]int{}
	for _, s := range ch.texts() {
		times[s]++
	}
	for _, d := range accepted {
		if p := told.of(d).Parts[0]; times[d.Parts[0].Text] != 1 || p.State != records.Sent {
			t.Errorf("%s was sent %d times, is %+v", d.Request, times[d.Parts[0].Text], p)
		}
	}
	if refused == 0 || len(accepted) == 0 || len(times) != len(accepted) {
		t.Errorf("%d refused, %d accepted, %d sent", refused, len(accepted), len(times))
	}
	if left := blobs(t, o); len(left) != 0 {
		t.Errorf("%d blobs left", len(left))
	}
}

// fill takes all of a file system but about so many bytes.
func fill(t *testing.T, dir string, leave int64) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(make([]byte, max(0, int64(st.Bavail)*st.Bsize-leave)))
	if err != nil && !errors.Is(err, unix.ENOSPC) { // the outbox writes too
		t.Fatal(err)
	}
	return path
}

// TestADiskThatRunsFullIsSaidSo, by acceptance and by the check, with free_disk
// turned off: SQLite's word for it is "database or disk is full (13)".
func TestADiskThatRunsFullIsSaidSo(t *testing.T) {
	mount := fstest.SmallDisk(t, "2m")
	o := openAt(t, filepath.Join(mount, "state"), outbox.Options{})
	if err := errors.Join(accepts(o), o.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
	ballast := fill(t, mount, 0)
	for what, err := range map[string]error{"accepted": accepts(o), "checked": o.Check(t.Context())} {
		var full *outbox.FullError
		if !errors.As(err, &full) || full.Code != "disk_full" || !strings.Contains(details(err), "the disk is full") && !strings.Contains(details(err), "no space") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(accepts(o), o.Check(t.Context())); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}
