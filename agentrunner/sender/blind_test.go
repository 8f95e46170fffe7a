package sender_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// older is a host of the older protocol: it has messages/ and input/ alone.
func older(t *testing.T) *fakehost.Host {
	t.Helper()
	h := fakehost.New(t, nil)
	for _, dir := range []string{ipc.ResultsDir, ipc.ContextDir, ipc.FilesDir} {
		if err := os.RemoveAll(filepath.Join(h.IPC, dir)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestAnOlderHostGetsOneRequestForEachFile(t *testing.T) {
	h := older(t)
	s := newSender(t, h, nil)
	shared, outside := h.File("group/a.txt", "a"), filepath.Join(h.Root, "tmp/b.txt")
	if err := os.WriteFile(outside, []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := s.SendFiles(t.Context(), []sender.File{{Path: shared, Caption: "two files"}, {Path: outside}}, sender.Options{})
	if err != nil || report.Status != "queued" || !strings.Contains(report.Summary, "gives no receipts") || len(report.Files) != 2 {
		t.Fatalf("report %+v, error %v", report, err)
	}
	var paths []string
	for range 2 {
		r := h.Next()
		if len(r.Files) != 1 || r.Chat != "web:family" || r.Folder != "family" || r.Time == "" {
			t.Fatalf("request %+v", r)
		}
		if (r.ID == report.ID) != (r.Files[0].Caption == "two files") {
			t.Errorf("the report's id is not that of the first file: %+v", r)
		}
		path := r.Files[0].Path
		if strings.HasPrefix(path, "/workspace/ipc/files/") {
			path = "/workspace/ipc/files/…/" + filepath.Base(path)
		}
		paths = append(paths, path)
	}
	if want := []string{"/workspace/group/a.txt", "/workspace/ipc/files/…/b.txt"}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
	if staged := h.Staged(); !slices.Equal(staged, []string{"b.txt"}) {
		t.Errorf("staged %q: the host has yet to open it", staged)
	}
}

func TestAnOlderHostMustBeToldTheChat(t *testing.T) {
	h := older(t)
	s := newSender(t, h, func(c *sender.Config) { c.Chat = "" })
	_, err := s.SendText(t.Context(), "hello", sender.Options{})
	var p *sender.Problem
	if !errors.As(err, &p) || p.Code != "no_chat" || len(h.Pending()) != 0 {
		t.Errorf("error %v, in the queue %q", err, h.Pending())
	}
}

func TestOldCopiesAreSweptWhereTheHostDoesNot(t *testing.T) {
	h := older(t)
	old, fresh := h.File("ipc/files/0190-old/a.txt", "a"), h.File("ipc/files/0190-new/b.txt", "b")
	long := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Dir(old), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := newSender(t, h, nil).SendText(t.Context(), "hello", sender.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old copy: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}
