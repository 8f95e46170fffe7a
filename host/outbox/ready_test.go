package outbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// accepts says whether a file can be accepted, by accepting one.
func accepts(o *box) error {
	if err := o.Room("family", outbox.Load{}, outbox.Load{Parts: 1, Bytes: 4096}); err != nil {
		return err
	}
	b, err := o.Copy(context.Background(), strings.NewReader(large("x")), blob.Small+1)
	if err != nil {
		return err
	}
	d := text("fake:a", "x")
	d.Parts[0].Files = []records.File{{Blob: b.Name, SHA256: b.SHA256, Bytes: b.Bytes}}
	d.Parts[0].Files[0].Size = b.Size
	return o.Put(context.Background(), []records.Delivery{d})
}

// TestTheCheckSaysWhetherADeliveryCanBeAccepted: health had a bound of its own
// for the disk, and did not see an outbox that cannot be written.
func TestTheCheckSaysWhetherADeliveryCanBeAccepted(t *testing.T) {
	nothing := func(*testing.T, string) {}
	tests := []struct {
		name  string
		free  int64
		spoil func(t *testing.T, dir string)
		words string // empty: it can
	}{
		{"all is well", 1, nothing, ""},
		{"free_disk is turned off", 0, nothing, ""},
		{"less than free_disk is free", 1 << 60, nothing, "limits.free_disk is"},
		{"no directory for files", 0, func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
				t.Fatal(err)
			}
		}, "keep a file"},
		{"the database was removed", 0, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "longshore.db")); err != nil {
				t.Fatal(err)
			}
		}, "moved or replaced"},
		{"the database was replaced", 0, func(t *testing.T, dir string) {
			path := filepath.Join(dir, "longshore.db")
			data, err := os.ReadFile(path)
			if err := errors.Join(err, os.Rename(path, path+".old"), os.WriteFile(path, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "moved or replaced"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.words == "moved or replaced" {
				statetest.SQLiteOnly(t, "there is a file")
			}
			o := open(t, outbox.Options{Settings: limits(outbox.Limits{FreeDisk: tt.free})})
			tt.spoil(t, o.dir)
			for what, err := range map[string]error{"accepted": accepts(o), "checked": o.Check(t.Context())} {
				if (err == nil) != (tt.words == "") || err != nil && !strings.Contains(details(err), tt.words) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func details(err error) string {
	var full *outbox.FullError
	if errors.As(err, &full) && full.Cause != nil {
		return full.Cause.Error()
	}
	return err.Error()
}

func TestACheckDoesNotWaitLongerThanItsCaller(t *testing.T) {
	o := open(t, outbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = o.Check(ctx) // may be done before it is looked at
	if err := o.Check(t.Context()); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestFilesOfNoDeliveryAreMovedAsideAtAStart: they were deleted, also where it
// was the record that was lost.
func TestFilesOfNoDeliveryAreMovedAsideAtAStart(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir, outbox.Options{})
	b, err := o.Copy(t.Context(), strings.NewReader(large("orphan")), blob.Small+6)
	if err := errors.Join(err, o.Close(), os.WriteFile(filepath.Join(dir, "blobs", "note to self"), []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	o = openAt(t, dir, outbox.Options{})
	if left := blobs(t, o); len(left) != 1 || left[0] != "note to self" { // the host did not make it
		t.Errorf("left: %q", left)
	}
	got := map[string]string{}
	found, _ := filepath.Glob(filepath.Join(dir, "aside", "*-state-swept", "*"))
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(path)] = string(data)
	}
	if diff := cmp.Diff(map[string]string{b.Name: large("orphan")}, got); diff != "" {
		t.Error(diff)
	}
}
