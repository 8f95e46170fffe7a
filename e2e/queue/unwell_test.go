package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

// health asks a host as a monitor does.
func health(h *serve.Host) (status int, words string) {
	w := httptest.NewRecorder()
	h.Local(true).Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var answer struct{ Error struct{ Message string } }
	_ = json.Unmarshal(w.Body.Bytes(), &answer) // empty words then
	return w.Code, answer.Error.Message
}

// queued waits until a request's result says that it waits, and why.
func queued(s *stage.Site, folder, id, code string) ipc.Result {
	s.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(stage.Patience); ; {
		r, err := s.Client(folder).Status(id)
		if err == nil && r.Status == ipc.Queued && r.Code == code {
			return r
		}
		select {
		case <-tick.C:
		case <-deadline:
			s.Fatalf("the result never says %s: %+v, %v", code, r, err)
		}
	}
}

// TestHealthAndAcceptanceAgreeAndARequestSaysWhyItWaits: health had a bound of
// its own for the disk, missed an outbox that cannot be written, and a request
// that waited for that had no reason.
func TestHealthAndAcceptanceAgreeAndARequestSaysWhyItWaits(t *testing.T) {
	tests := []struct {
		name, limits string
		spoil, mend  func(dir string) error
		code         string
		finding      string
	}{
		{"less than free_disk", "{free_disk: 1000TiB}", nil, nil, "disk_full", finding.Accepting},
		{"no directory for files", "{free_disk: 0}", func(dir string) error { return os.Rename(filepath.Join(dir, "blobs"), filepath.Join(dir, "old")) },
			func(dir string) error { return os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "blobs")) }, "not_recorded", finding.State},
		{"database moved", "{free_disk: 0}", func(dir string) error {
			return os.Rename(filepath.Join(dir, "longshore.db"), filepath.Join(dir, "old.db"))
		},
			func(dir string) error {
				return os.Rename(filepath.Join(dir, "old.db"), filepath.Join(dir, "longshore.db"))
			}, "not_recorded", finding.StateGone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := stage.NewSite(t, t.TempDir(), 1, tt.limits)
			h, _ := s.Start(nil, memory.New(memory.Options{Online: true}))
			if tt.spoil != nil {
				if status, words := health(h); status != http.StatusOK {
					t.Errorf("before: %d, %s", status, words)
				}
				stage.Must(t, tt.spoil(s.Cfg.Layout().Own()))
			}
			if status, words := health(h); status != http.StatusServiceUnavailable || words == "" {
				t.Errorf("health: %d, %q", status, words)
			}
			if faults, _ := h.Local(true).Findings(t.Context(), false); !slices.ContainsFunc(faults, func(f finding.Finding) bool { return f.Name == tt.finding }) {
				t.Errorf("the faults are %+v", faults)
			}
			stage.Must(t, os.WriteFile(filepath.Join(s.Cfg.Layout().Workspace("g0"), "a.txt"), bytes.Repeat([]byte("a"), blob.Small+1), 0o644))
			s.Place("g0", "a.json", `{"type":"file","filePath":"/workspace/group/a.txt"}`)
			if r := queued(s, "g0", "a", tt.code); r.Message == "" || strings.Contains(r.Message, s.Dir) {
				t.Errorf("the result says %q", r.Message)
			}
			if tt.mend == nil {
				return
			}
			stage.Must(t, tt.mend(s.Cfg.Layout().Own()))
			if r := s.Result("g0", "a"); r.Status != ipc.Sent {
				t.Errorf("once it is mended: %+v", r)
			}
			if status, words := health(h); status != http.StatusOK {
				t.Errorf("once it is mended: %d, %s", status, words)
			}
		})
	}
}

// Whoever asked and went away left the others an answer that said that nothing can be accepted.
func TestACallerThatWentAwayMadeTheHostUnwell(t *testing.T) {
	s := stage.NewSite(t, t.TempDir(), 1, "{free_disk: 0}")
	h, _ := s.Start(nil, memory.New(memory.Options{Online: true}))
	local := h.Local(true)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, _ = local.Findings(gone, false) // nobody reads it
	all, err := local.Findings(t.Context(), false)
	stage.Must(t, err)
	if slices.ContainsFunc(all, func(f finding.Finding) bool { return f.Name == finding.Accepting }) {
		t.Errorf("%+v", all)
	}
}

// TestFreeDiskZeroTurnsItOff: it became 1 GiB.
func TestFreeDiskZeroTurnsItOff(t *testing.T) {
	for limit, full := range map[string]bool{"0": false, "1GiB": true} {
		s := stage.NewSite(t, t.TempDir(), 1, fmt.Sprintf("{free_disk: %s}", limit))
		h := s.Open(nil, memory.New(memory.Options{}))
		var st unix.Statfs_t
		stage.Must(t, unix.Statfs(s.Dir, &st))
		free := int64(st.Bavail) * int64(st.Bsize)
		err := h.Outbox.Room("g0", outbox.Load{}, outbox.Load{Parts: 1, Bytes: max(0, free-512<<20)})
		if refusal.Of(err) != nil != full { // of an empty disk, file_too_large
			t.Errorf("free_disk %s: %v", limit, err)
		}
		stage.Must(t, h.Close())
	}
}
