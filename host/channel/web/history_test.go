package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

func TestHistoryOutlivesTheHost(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	asked := s.say("the report, please")
	for range time.Tick(10 * time.Millisecond) { // the host takes it in its own time
		if s.history("")[0].Status == history.Delivered {
			break
		}
	}
	body := bytes.Repeat([]byte("ledger "), 50_000)
	s.send(channel.Message{Text: "here", ReplyTo: asked.ID, Files: outgoing("ledger.txt", "text/plain", media.Document, body)})
	before := s.history("")
	s.stop()

	s = start(t, opts)
	after := s.history("")
	// Fetching is what delivers: the first look had it as sent.
	before[1].Status = history.Delivered
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if q := after[1].Quote; q == nil || q.From != "Ann" || q.Text != "the report, please" {
		t.Errorf("the quote is %+v", q)
	}
	_, got := s.do("GET", after[1].File.URL, nil)
	if !bytes.Equal(got, body) {
		t.Errorf("the file came back with %d bytes, want %d", len(got), len(body))
	}
}

func TestTheSameIDShowsOnce(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	m := channel.Message{ID: newID(), Text: "once", Files: outgoing("a.txt", "text/plain", media.Document, []byte("abc"))}
	m.Chat = "web:family"
	first := s.send(m)

	var group sync.WaitGroup
	fresh := channel.Message{ID: newID(), Chat: "web:family", Text: "at the same time", Files: outgoing("b.txt", "text/plain", media.Document, []byte("abc"))}
	for range 8 {
		group.Go(func() {
			if r, err := s.Send(t.Context(), m); err != nil || r != first {
				t.Errorf("a repeat returned %+v, %v; want %+v", r, err, first)
			}
			if _, err := s.Send(t.Context(), fresh); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s.stop()

	s = start(t, opts)
	if r := s.send(m); r != first {
		t.Errorf("after a restart: %+v, want %+v", r, first)
	}
	if got := texts(s.history("")); got != "once;at the same time;" {
		t.Errorf("the history holds %q", got)
	}
	if n := len(stored(t, opts.Dir)); n != 2 {
		t.Errorf("%d files are stored, want 2", n)
	}
}

// large makes a content too large to be kept in the database.
func large(content string) []byte { return []byte(content + strings.Repeat(".", blob.Small)) }

// stored lists the files that the page keeps, and the rows of those in the database.
func stored(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".marker" {
			names = append(names, e.Name())
		}
	}
	rows, err := statetest.Raw(t, dir).Query(`SELECT id FROM bytes`)
	ids, err := state.All(rows, err, state.One[int64])
	if err != nil {
		return names // the database is gone
	}
	for _, id := range ids {
		names = append(names, fmt.Sprintf("%016x", id))
	}
	return names
}

// A crash can leave a file under its .part name, or under its final name with
// no row yet. The next start removes both and keeps what has a row.
func TestOrphansOfACrashAreSwept(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	s.send(channel.Message{Files: outgoing("kept.txt", "text/plain", media.Document, []byte("kept"))})
	s.stop()
	kept := stored(t, opts.Dir)
	for _, name := range []string{newID() + ".part", newID()} {
		if err := os.WriteFile(filepath.Join(opts.Dir, "blobs", name), []byte("orphan"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = start(t, opts)
	if diff := cmp.Diff(kept, stored(t, opts.Dir)); diff != "" {
		t.Error(diff)
	}
	if _, b := s.do("GET", s.history("")[0].File.URL, nil); string(b) != "kept" {
		t.Errorf("the kept file holds %q", b)
	}
}

func TestWhatAPictureShowsIsInTheHistory(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	m := channel.Message{Files: outgoing("a.png", "image/png", media.Image, []byte("abc"))}
	m.Files[0].Alt = "a quay at dusk"
	s.send(m)
	s.stop()
	if got := start(t, opts).history("")[0].File.Alt; got != m.Files[0].Alt {
		t.Errorf("it says %q", got)
	}
}

func TestNothingIsReadableByOthers(t *testing.T) {
	opts := options(filepath.Join(t.TempDir(), "web"))
	s := start(t, opts)
	s.send(channel.Message{Files: outgoing("a.txt", "text/plain", media.Document, []byte("abc"))})
	err := filepath.WalkDir(opts.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSendRefusesForGoodWhatCannotBe(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	changed := outgoing("a.txt", "text/plain", media.Document, []byte("abc"))
	changed[0].SHA256 = outgoing("a.txt", "text/plain", media.Document, []byte("abd"))[0].SHA256
	longer := outgoing("a.txt", "text/plain", media.Document, []byte("abc"))
	longer[0].Size = 2
	huge := outgoing("a.txt", "text/plain", media.Document, nil)
	huge[0].Size = 1 << 40
	for name, c := range map[string]struct {
		m    channel.Message
		code string
	}{
		"unknown chat":     {channel.Message{Chat: "web:nobody", Text: "x"}, "unknown_chat"},
		"another platform": {channel.Message{Chat: "slack:C1", Text: "x"}, "unknown_chat"},
		"other bytes":      {channel.Message{Chat: "web:family", Files: changed}, "content_changed"},
		"more bytes":       {channel.Message{Chat: "web:family", Files: longer}, "content_changed"},
		"too large":        {channel.Message{Chat: "web:family", Files: huge}, "file_too_large"},
		"too long":         {channel.Message{Chat: "web:family", Text: string(bytes.Repeat([]byte("x"), s.Limits().Text+1))}, "text_too_long"},
	} {
		t.Run(name, func(t *testing.T) {
			c.m.ID = newID()
			_, err := s.Send(t.Context(), c.m)
			var e *channel.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Class != channel.Permanent {
				t.Errorf("got %v (class %v), want a permanent %s", err, channel.ClassOf(err), c.code)
			}
		})
	}
	if ms := s.history(""); len(ms) != 0 {
		t.Errorf("the history holds %+v", ms)
	}
	if len(stored(t, opts.Dir)) != 0 {
		t.Error("a refused file is still stored")
	}
}

func TestAFailingReaderPassesAndLeavesNothing(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	f := outgoing("a.txt", "text/plain", media.Document, []byte("abc"))
	f[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) { return nil, errors.New("the disk hiccups") })
	_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: f})
	if err == nil || channel.ClassOf(err) != channel.Passing {
		t.Errorf("got %v, want an error that passes", err)
	}
	if names := stored(t, opts.Dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestHistoryComesInPages(t *testing.T) {
	s := start(t, options(t.TempDir()))
	var ids []string
	for _, text := range []string{"1", "2", "3", "4", "5"} {
		ids = append(ids, s.send(channel.Message{Text: text}).ID)
	}
	for query, want := range map[string]string{
		"":                              "1;2;3;4;5;",
		"?limit=2":                      "4;5;",
		"?limit=2&before=" + ids[3]:     "2;3;",
		"?limit=2&after=" + ids[0]:      "2;3;",
		"?after=" + ids[4]:              "",
		"?limit=200&before=" + ids[0]:   "",
		"?limit=10&after=" + ids[2]:     "4;5;",
		"?limit=1&before=" + ids[1]:     "1;",
		"?limit=200&before=" + ids[4]:   "1;2;3;4;",
		"?after=" + ids[0] + "&limit=1": "2;",
	} {
		if got := texts(s.history(query)); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=201", "?limit=x", "?after=unknown", "?after=" + ids[0] + "&before=" + ids[1]} {
		if res, b := s.do("GET", "/api/chats/family/messages"+query, nil); res.StatusCode/100 != 4 || !json.Valid(b) {
			t.Errorf("%s: %d %s", query, res.StatusCode, b)
		}
	}
	var page struct{ More bool }
	_, b := s.do("GET", "/api/chats/family/messages?limit=4", nil)
	if err := json.Unmarshal(b, &page); err != nil || !page.More {
		t.Errorf("more is not said: %s", b)
	}
}

func TestReceiptsAreReportedOnce(t *testing.T) {
	opts := options(t.TempDir())
	in := newInbox()
	s := startWith(t, opts, in)
	id := s.send(channel.Message{Text: "look"}).ID
	seen := func() {
		res, b := s.do("POST", "/api/chats/family/seen", bytes.NewReader([]byte(`{"ids":["`+id+`","unknown"]}`)), "Content-Type", "application/json")
		if res.StatusCode != http.StatusNoContent {
			t.Fatalf("%d %s", res.StatusCode, b)
		}
	}
	s.history("")
	s.history("")
	seen()
	seen()
	s.stop()
	s = startWith(t, opts, in)
	s.history("")
	seen()
	if diff := cmp.Diff([]string{id + " delivered", id + " read"}, in.reports); diff != "" {
		t.Error(diff)
	}
	if got := s.history("")[0].Status; got != history.Read {
		t.Errorf("its status is %s", got)
	}
}

func TestSendAfterTheEndPasses(t *testing.T) {
	s := start(t, options(t.TempDir()))
	s.stop()
	if _, err := s.Send(context.Background(), channel.Message{ID: newID(), Chat: "web:family", Text: "late"}); err == nil || channel.ClassOf(err) != channel.Passing {
		t.Errorf("got %v, want an error that passes", err)
	}
	if ok, detail := s.Connected(); ok || detail == "" {
		t.Errorf("Connected is %v, %q", ok, detail)
	}
}
