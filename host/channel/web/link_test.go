package web_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/media"
)

// TestAFileOfTheOutboxIsNotCopied: the page's file and the outbox's are the
// same bytes on the disk, and outlive the outbox's name for them.
func TestAFileOfTheOutboxIsNotCopied(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	outbox, err := blob.Open(filepath.Join(opts.Dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer outbox.Close()
	b, err := outbox.Stage(t.Context(), strings.NewReader("the bytes"), 9, nil)
	if err != nil {
		t.Fatal(err)
	}
	var told int64
	s.send(channel.Message{
		Files: []channel.File{{
			Info:    media.Info{Name: "a.txt", MIME: "text/plain", Kind: media.Document, Size: b.Size},
			SHA256:  b.SHA256,
			Content: channeltest.Opens(func() (io.ReadSeekCloser, error) { return outbox.Open(t.Context(), b.Name, b.SHA256, b.Size) }),
		}},
		Attempt: channeltest.Progress(func(n int64) { told = n }),
	})
	f := s.history("")[0].File
	mine, err := os.Stat(filepath.Join(opts.Dir, "blobs", b.Name))
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := os.Stat(filepath.Join(opts.Dir, "blobs", f.ID)); err != nil || !os.SameFile(mine, shown) {
		t.Errorf("the file was copied: %v", err)
	}
	if err := outbox.Remove(b.Name); err != nil {
		t.Fatal(err)
	}
	if _, body := s.do("GET", f.URL, nil); string(body) != "the bytes" || told != b.Size {
		t.Errorf("the page serves %q; progress was %d", body, told)
	}
}
