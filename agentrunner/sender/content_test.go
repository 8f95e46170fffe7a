package sender_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

func TestContentIsDecodedStrictly(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	s := newSender(t, h, nil)
	if _, err := s.SendContent(t.Context(), "JVBERi0xLjQ=", sender.File{Name: "a.pdf"}, sender.Options{}); err != nil {
		t.Fatal(err)
	}
	if r := h.Next(); r.Files[0].Name != "a.pdf" || !strings.HasPrefix(r.Files[0].Path, "/workspace/ipc/files/") {
		t.Errorf("request %+v", r)
	}
	for _, same := range []string{"JVBERi0xLjQ", "data:application/pdf;base64,JVBERi0xLjQ=", "DATA:;base64,JVBERi0xLjQ", "JVBE\r\nRi0xLjQ=\n"} {
		if _, err := s.SendContent(t.Context(), same, sender.File{Name: "a.pdf"}, sender.Options{NoWait: true}); err != nil {
			t.Errorf("%q: %v", same, err)
			continue
		}
		rel := strings.TrimPrefix(h.Next().Files[0].Path, "/workspace/ipc/")
		if got, err := os.ReadFile(filepath.Join(h.IPC, rel)); err != nil || string(got) != "%PDF-1.4" {
			t.Errorf("%q: staged %q, %v", same, got, err)
		}
	}
	for name, test := range map[string]struct{ content, name, words string }{
		"nothing":                    {"", "a.pdf", "is empty"},
		"no name":                    {"JVBERi0xLjQ=", " ", "no name"},
		"data URL without base64":    {"data:text/plain,hello", "a.txt", "not in base64"},
		"cut data URL":               {"data:application/pdf;base64", "a.pdf", "not in base64"},
		"cut":                        {"JVBERi0xLjQxx", "a.pdf", "not valid base64"},
		"bits too many":              {"JVBERi0xLjR=", "a.pdf", "not valid base64"},
		"URL alphabet":               {"_-8=", "a.pdf", "standard base64"},
		"garbage":                    {"JVBE*i0x", "a.pdf", "at character 5"},
		"too large":                  {strings.Repeat("A", 28<<20), "a.pdf", "a call may carry"},
		"over the limit of its kind": {strings.Repeat("A", 6<<20), "a.pdf", "documents up to 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.SendContent(t.Context(), test.content, sender.File{Name: test.name}, sender.Options{})
			var p *sender.Problem
			if !errors.As(err, &p) || !strings.Contains(p.Error(), test.words) {
				t.Errorf("got %v, want a problem with %q", err, test.words)
			}
		})
	}
}

func TestTextThatCannotBeAMessageIsRefused(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	for name, text := range map[string]string{
		"empty": " \n", "not UTF-8": "a\xff", "too long": strings.Repeat("x", 70<<10), "NUL": "a\x00b",
	} {
		var p *sender.Problem
		if _, err := s.SendText(t.Context(), text, sender.Options{}); !errors.As(err, &p) {
			t.Errorf("%s: got %v, want a problem", name, err)
		}
	}
	if len(h.Pending()) > 0 {
		t.Errorf("queued nevertheless: %q", h.Pending())
	}
}

func TestHostOfTheOlderProtocolGetsACopyToo(t *testing.T) {
	h := fakehost.New(t, nil)
	if err := errors.Join(os.Remove(filepath.Join(h.IPC, "files")), os.Remove(filepath.Join(h.IPC, "results")),
		os.RemoveAll(filepath.Join(h.IPC, "context"))); err != nil {
		t.Fatal(err)
	}
	report, err := newSender(t, h, nil).SendFiles(t.Context(), []sender.File{{Path: h.File("tmp/a.pdf", "%PDF")}}, sender.Options{})
	if err != nil || report.Status != "queued" || len(h.Staged()) != 1 {
		t.Errorf("report %+v, error %v, staged %q", report, err, h.Staged())
	}
}
