package sender_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// A busy machine looks later than it was asked to.
var onItsWay = regexp.MustCompile(`Still on its way after [1-9]\d*s: the text \(1,000 bytes of 3\.9 KiB\)\.`)

func TestCallAnswersInTimeWithTheTrueState(t *testing.T) {
	short := func(c *sender.Config) { c.Wait = 30 * time.Millisecond }
	t.Run("the host does not run", func(t *testing.T) {
		h := fakehost.New(t, nil)
		report, err := newSender(t, h, short).SendText(t.Context(), "hello", sender.Options{})
		if err != nil || report.Status != "queued" || !strings.HasPrefix(report.Summary, "Not taken by the host yet: the text.") {
			t.Errorf("report %+v, error %v", report, err)
		}
	})
	t.Run("it is on its way", func(t *testing.T) {
		h := fakehost.New(t, func(fakehost.Request) []ipc.Result {
			return []ipc.Result{{Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1000, Total: 4000}}}
		})
		s := newSender(t, h, func(c *sender.Config) { c.Wait = time.Second })
		report, err := s.SendText(t.Context(), "hello", sender.Options{})
		if err != nil || !onItsWay.MatchString(report.Summary) ||
			!strings.Contains(report.Summary, "do not send it again") || !strings.Contains(report.Summary, report.ID) {
			t.Fatalf("report %+v, error %v", report, err)
		}
		h.Write(report.ID, ipc.Result{Status: ipc.Delivered})
		if report, err = s.Status(report.ID); err != nil || report.Status != "delivered" {
			t.Errorf("asked later: %+v, error %v", report, err)
		}
	})
	t.Run("the host gives no receipts", func(t *testing.T) {
		h := fakehost.New(t, nil)
		if err := os.Remove(filepath.Join(h.IPC, "results")); err != nil {
			t.Fatal(err)
		}
		s := newSender(t, h, nil)
		report, err := s.SendText(t.Context(), "hello", sender.Options{})
		if err != nil || report.Status != "queued" || !strings.Contains(report.Summary, "gives no receipts") {
			t.Errorf("report %+v, error %v", report, err)
		}
		if _, err := s.Status(report.ID); err == nil || !strings.Contains(err.Error(), "no receipts") {
			t.Errorf("status: %v", err)
		}
	})
}

func TestCancelTakesBackWhatTheHostHasNotAccepted(t *testing.T) {
	start := func(t *testing.T, h *fakehost.Host) (cancel context.CancelCauseFunc, done chan sender.Report) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done = make(chan sender.Report, 1)
		s, path := newSender(t, h, nil), h.File("tmp/a.pdf", "%PDF")
		go func() {
			report, err := s.SendFiles(ctx, []sender.File{{Path: path}}, sender.Options{})
			if err != nil {
				t.Error(err)
			}
			done <- report
		}()
		return cancel, done
	}
	t.Run("not accepted yet", func(t *testing.T) {
		h := fakehost.New(t, nil)
		cancel, done := start(t, h)
		h.Next()
		cancel(nil)
		if report := <-done; report.Status != "withdrawn" || len(h.Pending())+len(h.Staged()) > 0 {
			t.Errorf("report %+v, left: %q %q", report, h.Pending(), h.Staged())
		}
	})
	t.Run("accepted", func(t *testing.T) {
		h := fakehost.New(t, nil)
		cancel, done := start(t, h)
		r := h.Next()
		h.Write(r.ID, ipc.Result{Status: ipc.Queued})
		h.Take(r.ID)
		cancel(nil)
		if report := <-done; report.Status != "queued" || len(h.Staged()) != 1 {
			t.Errorf("report %+v, staged %q", report, h.Staged())
		}
	})
	t.Run("the program leaves", func(t *testing.T) {
		h := fakehost.New(t, nil)
		cancel, done := start(t, h)
		h.Next()
		cancel(sender.ErrKeep)
		if report := <-done; report.Status != "queued" || len(h.Pending()) != 1 || len(h.Staged()) != 1 {
			t.Errorf("report %+v, left: %q %q", report, h.Pending(), h.Staged())
		}
	})
	t.Run("before the call", func(t *testing.T) {
		h := fakehost.New(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := newSender(t, h, nil).SendText(ctx, "hello", sender.Options{}); !errors.Is(err, context.Canceled) || len(h.Pending()) > 0 {
			t.Errorf("error %v, left %q", err, h.Pending())
		}
	})
}
