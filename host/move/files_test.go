package move

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// withFiles is a state that names files above 16 KiB, with their contents.
func withFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	db, end := statetest.Start(t, dir)
	defer end()
	all := map[string]string{}
	for i := range 5 {
		content := strings.Repeat(string(rune('a'+i)), 20_000+i)
		b, err := db.Blobs.Stage(t.Context(), strings.NewReader(content), 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[b.Name] = content
		if _, err := db.Exec(t.Context(), `INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES (?, '', '', '', '', ?, 0, ?, 0, 0)`,
			b.Name, `{"sha256":"`+b.SHA256+`"}`, b.Name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && blob.IsName(e.Name()) {
			all[e.Name()] = string(b)
		}
	}
	return all
}

// stopping ends a move before a step, as a kill does.
type stopping struct {
	left   int
	cancel context.CancelFunc
}

func (s *stopping) Say(string, ...any) {
	if s.left--; s.left == 0 {
		s.cancel()
	}
}

// A move of files that is cut off at any step goes on; a copy that was damaged meanwhile is made again.
func TestFilesGoToThePlaceAndComeBack(t *testing.T) {
	dir, shared := t.TempDir(), t.TempDir()
	want := withFiles(t, dir)
	place := blob.NewDirectory(shared)
	o := FilesOptions{State: statetest.Spec(dir), Place: place, Log: slog.New(slog.DiscardHandler), Now: time.Now(), Progress: silent{}}
	for step := 1; step <= 4; step++ {
		ctx, cancel := context.WithCancel(t.Context())
		cut := o
		cut.Progress = &stopping{step, cancel}
		if _, err := Files(ctx, cut); !errors.Is(err, context.Canceled) {
			t.Fatalf("step %d: %v", step, err)
		}
		cancel()
	}
	for name := range contents(t, shared) {
		if err := os.WriteFile(filepath.Join(shared, name), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		break
	}
	r, err := Files(t.Context(), o)
	if err != nil || r.Files != 5 || r.Lost != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(want, contents(t, shared)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, contents(t, r.Aside)); diff != "" || len(contents(t, filepath.Join(dir, "blobs"))) > 0 {
		t.Errorf("aside: %s", diff)
	}
	if _, err := Files(t.Context(), o); !errors.Is(err, ErrMoved) {
		t.Errorf("moved twice: %v", err)
	}
	db, err := state.OpenAt(t.Context(), o.State, place, o.Log)
	if err != nil {
		t.Fatal(err)
	}
	if found := db.Blobs.Findings(t.Context()); len(found) > 0 {
		t.Errorf("a host has findings: %+v", found)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	o.Back = true
	if r, err = Files(t.Context(), o); err != nil || r.Files != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(want, contents(t, filepath.Join(dir, "blobs"))); diff != "" {
		t.Error(diff)
	}
	back := statetest.Open(t, dir)
	if len(back.Missing) > 0 {
		t.Errorf("missing: %q", back.Missing)
	}
}

// A place with other files may be another installation's.
func TestFilesDoNotGoIntoAnothersPlace(t *testing.T) {
	dir, shared := t.TempDir(), t.TempDir()
	want := withFiles(t, dir)
	if err := os.WriteFile(filepath.Join(shared, strings.Repeat("0", 32)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := FilesOptions{State: statetest.Spec(dir), Place: blob.NewDirectory(shared), Log: slog.New(slog.DiscardHandler), Now: time.Now(), Progress: silent{}}
	if _, err := Files(t.Context(), o); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(want, contents(t, filepath.Join(dir, "blobs"))); diff != "" {
		t.Error(diff)
	}
}

// An empty place that another installation had just marked was taken too.
func TestFilesWentIntoAPlaceThatAnotherInstallationHadMarked(t *testing.T) {
	dir, shared := t.TempDir(), t.TempDir()
	want := withFiles(t, dir)
	other := filepath.Join(shared, blob.Marker)
	if err := os.WriteFile(other, []byte(strings.Repeat("f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := FilesOptions{State: statetest.Spec(dir), Place: blob.NewDirectory(shared), Log: slog.New(slog.DiscardHandler), Now: time.Now(), Progress: silent{}}
	if _, err := Files(t.Context(), o); err == nil {
		t.Error("they went")
	}
	if diff := cmp.Diff(want, contents(t, filepath.Join(dir, "blobs"))); diff != "" || len(contents(t, shared)) > 0 {
		t.Error(diff)
	}
	if mark, err := os.ReadFile(other); err != nil || string(mark) != strings.Repeat("f", 32) {
		t.Errorf("the mark is %q, %v", mark, err)
	}
}

// A move that was cut off went to another place the next time. Both had one mark, and a host took the half for the whole.
func TestTwoPlacesHadOneMark(t *testing.T) {
	dir, half, whole := t.TempDir(), t.TempDir(), t.TempDir()
	withFiles(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	o := FilesOptions{State: statetest.Spec(dir), Place: blob.NewDirectory(half), Log: slog.New(slog.DiscardHandler), Now: time.Now(), Progress: &stopping{2, cancel}}
	if _, err := Files(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Place, o.Progress = blob.NewDirectory(whole), silent{}
	if _, err := Files(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(filepath.Join(half, blob.Marker))
	b, failed := os.ReadFile(filepath.Join(whole, blob.Marker))
	if err != nil || failed != nil || len(b) == 0 || string(a) == string(b) {
		t.Errorf("%q and %q, %v, %v", a, b, err, failed)
	}
}

// A bit that had flipped in the place was taken into the directory, where nobody compares it again.
func TestAFileThatWasDamagedInThePlaceCameBack(t *testing.T) {
	dir, shared := t.TempDir(), t.TempDir()
	want := withFiles(t, dir)
	o := FilesOptions{State: statetest.Spec(dir), Place: blob.NewDirectory(shared), Log: slog.New(slog.DiscardHandler), Now: time.Now(), Progress: silent{}}
	if _, err := Files(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var name, content string
	for name, content = range want {
		break
	}
	if err := os.WriteFile(filepath.Join(shared, name), []byte("X"+content[1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Back = true
	if _, err := Files(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "blobs", name+"*")); err != nil || len(left) > 0 {
		t.Errorf("the directory has %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(shared, name), []byte(content), 0o600); err != nil { // from a backup
		t.Fatal(err)
	}
	if r, err := Files(t.Context(), o); err != nil || r.Files != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(want, contents(t, filepath.Join(dir, "blobs"))); diff != "" {
		t.Error(diff)
	}
}
