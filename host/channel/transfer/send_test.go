package transfer_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

func TestProgressNeverFallsAndIsSilentAfterwards(t *testing.T) {
	var told []int64
	p := transfer.NewProgress(func(n int64) { told = append(told, n) }, 100)
	for _, n := range []int64{10, 60, 5, 60, 90, 126} {
		p.At(n)
	}
	p.Stop()
	p.At(100)
	if len(told) != 4 || told[3] != 100 {
		t.Errorf("told %v, want 10 60 90 100", told)
	}
}

func TestAReaderEndsWithItsContextAndItsSize(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := transfer.Bounded(ctx, strings.NewReader("accepted"), 8)
	if b, err := io.ReadAll(r); string(b) != "accepted" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if _, err := io.ReadAll(transfer.Bounded(ctx, strings.NewReader("accepted and more"), 8)); err == nil {
		t.Error("a file that has grown is read")
	}
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read under a cancelled context: %v", err)
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "30": 30 * time.Second, "-5": 0, "soon": 0, "999999999999": 0, "1000000": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := transfer.RetryAfter(http.Header{"Retry-After": {header}}, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", header, got, want)
		}
	}
	// With this machine's clock a day behind, the wait was a day.
	h := http.Header{"Retry-After": {"Sat, 03 Jan 2026 03:05:05 GMT"}, "Date": {"Sat, 03 Jan 2026 03:04:05 GMT"}}
	if got := transfer.RetryAfter(h, now); got != time.Minute {
		t.Errorf("a minute after the answer's own time is %v", got)
	}
}

func TestScratchFilesHaveNoNameAndTheirRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scratch")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "bytes-1"), nil, 0o600)); err != nil {
		t.Fatal(err) // what a crash left
	}
	promised, full := int64(0), errors.New("full")
	s, err := transfer.OpenScratch(dir, func(n int64) (func(), error) {
		if promised+n > 100 {
			return nil, full
		}
		promised += n
		return func() { promised -= n }, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f, release, err := s.File(80)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("names in the directory: %v, %v", left, err)
	}
	var e *channel.Error
	if _, _, err := s.File(80); !errors.As(err, &e) || e.Class != channel.Passing || e.Code != "no_room" || !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
	release()
	b, err := s.Bounded(50)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write(make([]byte, 51)); !errors.Is(err, transfer.ErrTooLarge) {
		t.Errorf("more than it may: %v", err)
	}
	if n, err := b.Write(make([]byte, 50)); n != 50 || err != nil || promised != 0 {
		t.Errorf("wrote %d, %v, and %d are promised", n, err, promised)
	}
	if err := errors.Join(f.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskPasses(t *testing.T) {
	other := errors.New("other")
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if err := transfer.OrDiskFull(other, cause); channel.ClassOf(err) != channel.Passing || !errors.Is(err, cause) {
			t.Errorf("%v: %v", cause, err)
		}
	}
	if err := transfer.OrDiskFull(other, io.EOF); err != other {
		t.Errorf("no full disk: %v", err)
	}
}
