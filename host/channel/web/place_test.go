package web_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// While the directory that hosts share was away, the page said that the host could not do something.
func TestThePageSaysThatItsFilesAreAwayAndGoesOnWithoutThem(t *testing.T) {
	opts, files := options(t.TempDir()), filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	opts.place = blob.NewDirectory(files)
	s := start(t, opts)
	content := bytes.Repeat([]byte("large "), 5000)
	s.send(channel.Message{Files: outgoing("large.txt", "text/plain", media.Document, content)})
	shown := s.history("")[0].File.URL
	s.stop()
	if err := os.Rename(files, files+"-away"); err != nil {
		t.Fatal(err)
	}
	s = start(t, opts) // without its copies
	if code := s.problem(http.StatusServiceUnavailable, "GET", shown, nil); code != "files_away" {
		t.Errorf("the file answers %s", code)
	}
	res, body := s.upload(map[string]string{"text": "with a file"}, attachment{name: "mine.txt", body: content})
	if res.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(body, []byte(`"files_away"`)) {
		t.Errorf("a post answers %d %s", res.StatusCode, body)
	}
	s.posted(s.upload(map[string]string{"text": "words"}))
	s.posted(s.upload(map[string]string{"text": "with a small file"}, attachment{name: "mine.txt", body: []byte("small")}))
	if _, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: outgoing("new.txt", "text/plain", media.Document, content)}); err == nil || channel.ClassOf(err) != channel.Passing {
		t.Errorf("an answer with a file: %v", err)
	}
	s.stop()
	if err := os.Rename(files+"-away", files); err != nil {
		t.Fatal(err)
	}
	s = start(t, opts)
	if res, got := s.do("GET", shown, nil); res.StatusCode != http.StatusOK || !bytes.Equal(got, content) {
		t.Errorf("it is back: %d", res.StatusCode)
	}
}
