package pdf_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/pdf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program puts a shell script into a new directory, which becomes the PATH before
// the usual one.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var missing *pdf.Missing
	if _, err := pdf.Make(t.Context(), pdf.Document{Text: []byte("x")}, t.TempDir()); !errors.As(err, &missing) || missing.Step != "print HTML" || missing.Programs[0] != "chromium" {
		t.Errorf("no browser: %v", err)
	}
	program(t, "chromium", "exit 1")
	t.Setenv("PATH", strings.Split(os.Getenv("PATH"), ":")[0])
	if _, err := pdf.Make(t.Context(), pdf.Document{Text: []byte("x")}, t.TempDir()); !errors.As(err, &missing) || missing.Step != "turn Markdown into HTML" {
		t.Errorf("no converter: %v", err)
	}
}

func TestProgramThatFailsIsQuoted(t *testing.T) {
	program(t, "chromium", "echo 'cannot open display' >&2; exit 7")
	if _, err := pdf.Make(t.Context(), pdf.Document{HTML: true, Text: []byte("x")}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot open display") {
		t.Errorf("exit status: %v", err)
	}
	program(t, "chromium", "echo 'done, nothing made' >&2")
	if _, err := pdf.Make(t.Context(), pdf.Document{HTML: true, Text: []byte("x")}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "made no PDF") {
		t.Errorf("no file: %v", err)
	}
}

func TestPrintingEndsWithItsCaller(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	program(t, "chromium", "sleep 600 & touch "+started+"; wait")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
		}
	}()
	if _, err := pdf.Make(ctx, pdf.Document{HTML: true, Text: []byte("x")}, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDocumentThatIsTooLargeIsRefused(t *testing.T) {
	if _, err := pdf.Make(t.Context(), pdf.Document{Text: make([]byte, pdf.MaxSource+1)}, t.TempDir()); !errors.Is(err, pdf.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}
