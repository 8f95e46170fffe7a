package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

const day = 24 * time.Hour

// alter changes a history that no host has open.
func alter(t testing.TB, dir, statement string, args ...any) {
	t.Helper()
	db := statetest.Raw(t, dir)
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// fill adds ?1 old messages to the chat ?2.
const fill = `INSERT INTO page_message (channel, chat, id, key, author, sender, assistant, time, reply_to, quote, forwarded, status, file, blob, size, text, tree, short, poll)
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
	SELECT 'web', ?2, 'id' || i, '', '', 'Ann', 0, 1000, '', '', '', 'received', '', '', 0, 'x', '', 'x', '' FROM n`

// age makes all messages of a history older.
func age(t *testing.T, dir string, by time.Duration) {
	alter(t, dir, "UPDATE page_message SET time = time - ?", by.Milliseconds())
}

// until waits for the chat to show these texts.
func (s *site) until(want string) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		got := texts(s.history(""))
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the chat shows %s and not %s", got, want)
		}
	}
}

func (s *site) problem(wantStatus int, method, path string, body []byte) (code string) {
	s.t.Helper()
	res, b := s.do(method, path, bytes.NewReader(body), "Content-Type", "application/json")
	var p struct{ Error struct{ Code string } }
	if err := json.Unmarshal(b, &p); err != nil || res.StatusCode != wantStatus {
		s.t.Errorf("%s answers %d %s, want %d", path, res.StatusCode, b, wantStatus)
	}
	return p.Error.Code
}

// TestOldMessagesGoWithTheirFiles has a history of which half is too old. What
// goes leaves its ids: nothing that knew it errs.
func TestOldMessagesGoWithTheirFiles(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	old := channel.Message{ID: newID(), Chat: "web:family", Text: "old file", Files: outgoing("old.txt", "text/plain", media.Document, []byte("abc"))}
	first := s.send(old)
	post := []byte(`{"text":"old question","key":"0123456789"}`)
	s.posted(s.do("POST", "/api/chats/family/messages", bytes.NewReader(post), "Content-Type", "application/json"))
	file := s.history("")[0].File.URL
	s.stop()
	age(t, opts.Dir, 91*day)
	s = start(t, opts) // nothing is deleted unless the operator says so
	young := channel.Message{ID: newID(), Chat: "web:family", Text: "young", Files: outgoing("young.txt", "text/plain", media.Document, []byte("def"))}
	s.send(young)
	s.stop()

	opts.Keep = 90 * day
	s = start(t, opts)
	s.until("young;")
	if code := s.problem(http.StatusGone, "GET", file, nil); code != "file_gone" {
		t.Errorf("the old file answers %s", code)
	}
	if code := s.problem(http.StatusNotFound, "GET", "/files/"+newID()+"/old.txt", nil); code != "unknown_file" {
		t.Errorf("a file that never was answers %s", code)
	}
	for query, want := range map[string]string{
		"?before=" + young.ID: `{"gone":true,"messages":[],"more":false}`,
		"?before=" + old.ID:   `{"gone":true,"messages":[],"more":false}`,
		"?after=" + young.ID:  `{"messages":[],"more":false}`,
	} {
		if _, b := s.do("GET", "/api/chats/family/messages"+query, nil); strings.TrimSpace(string(b)) != want {
			t.Errorf("%s: %s, want %s", query, b, want)
		}
	}
	if got := texts(s.history("?after=" + old.ID)); got != "young;" {
		t.Errorf("a page that had seen the old one gets %s", got)
	}
	if _, b := s.do("GET", "/api/chats/work/messages", nil); bytes.Contains(b, []byte("gone")) {
		t.Errorf("a chat that lost nothing answers %s", b)
	}
	// What is repeated is not shown again, though it is gone.
	first.Time = first.Time.Add(-91 * day)
	if again := s.send(old); again != first {
		t.Errorf("the same send again returns %+v, want %+v", again, first)
	}
	if code := s.problem(http.StatusGone, "POST", "/api/chats/family/messages", post); code != "message_gone" {
		t.Errorf("the same post again answers %s", code)
	}
	s.until("young;")
	s.stop()
	if n := len(stored(t, opts.Dir)); n != 1 {
		t.Errorf("%d files are stored, want the young one", n)
	}
	statetest.SQLiteOnly(t, "it reads the database file")
	db, err := os.ReadFile(filepath.Join(opts.Dir, "longshore.db"))
	if err != nil || bytes.Contains(db, []byte("old question")) || !bytes.Contains(db, []byte("young")) {
		t.Errorf("the database still holds what was deleted, or not the rest (%v)", err)
	}
}

// TestTheOldestMakeRoom fills a chat whose oldest messages go at its quota,
// however old they are; the other chat keeps its own.
func TestTheOldestMakeRoom(t *testing.T) {
	opts := options(t.TempDir())
	opts.Quota, opts.Roll, opts.MaxUpload, opts.MaxFiles = 2500, true, 1000, 3
	file := func(n int) []channel.File {
		return outgoing("a.bin", "application/octet-stream", media.Document, bytes.Repeat([]byte("x"), n))
	}
	s := start(t, opts)
	s.send(channel.Message{Chat: "web:work", Files: file(1000)})
	first := s.send(channel.Message{Text: "1", Files: file(1000)})
	s.send(channel.Message{Text: "2"})
	for _, text := range []string{"3", "4", "5"} {
		s.send(channel.Message{Text: text, Files: file(1000)})
	}
	s.until("4;5;")
	page := s.listen("?after=" + first.ID)
	if got := page.message().Text + page.message().Text; got != "45" {
		t.Errorf("a page that comes back is shown %s", got)
	}
	// A post that would push out its own files is refused.
	body, kind := form(t, nil, attachment{"a", make([]byte, 1000)}, attachment{"b", make([]byte, 1000)}, attachment{"c", make([]byte, 1000)})
	if res, b := s.do("POST", "/api/chats/family/messages", body, "Content-Type", kind); res.StatusCode != http.StatusRequestEntityTooLarge || !bytes.Contains(b, []byte("too_large")) {
		t.Errorf("a post larger than the history: %d %s", res.StatusCode, b)
	}
	_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: file(2501)})
	var e *channel.Error
	if !errors.As(err, &e) || e.Code != "chat_full" || e.Class != channel.Permanent {
		t.Errorf("a file larger than the history: %v", err)
	}
	s.until("4;5;")
	s.stop()
	age(t, opts.Dir, 3000*day)
	s = start(t, opts)
	s.send(channel.Message{Text: "6", Files: file(1000)})
	s.until("5;6;")
	s.stop()
	if n := len(stored(t, opts.Dir)); n != 3 {
		t.Errorf("%d files are stored, want 3", n)
	}
}

// TestALongHistoryGoesInSteps deletes more than one batch, and of a chat that
// is configured no longer too.
func TestALongHistoryGoesInSteps(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	s.say("model")
	s.stop()
	for _, chat := range []string{"family", "former"} {
		alter(t, opts.Dir, fill, 1000, chat)
	}
	alter(t, opts.Dir, "UPDATE page_message SET time = 1000")
	opts.Keep = day
	s = start(t, opts)
	s.until("")
	s.say("new")
	s.until("new;")
	s.stop()
	restartUntil(t, opts, "SELECT COUNT(*) FROM page_message", 1)
	for range 2 { // what was deleted lately is known after any number of starts
		s = start(t, opts)
		s.history("")
		s.until("new;")
		s.stop()
	}
	if n := ask(t, opts.Dir, "SELECT COUNT(*) FROM page_gone"); n != 2001 {
		t.Errorf("of %d deleted messages the ids are known, want 2001", n)
	}
	// A year later nobody asks for what was deleted; that something was, stays.
	alter(t, opts.Dir, "UPDATE page_gone SET forgotten = 1000 WHERE chat = 'family'")
	restartUntil(t, opts, "SELECT COUNT(*) FROM page_gone WHERE chat = 'family'", 1)
	s = start(t, opts)
	if _, b := s.do("GET", "/api/chats/family/messages", nil); !bytes.Contains(b, []byte(`"gone":true`)) {
		t.Errorf("the chat has forgotten that it began earlier: %s", b)
	}
}

// restartUntil starts one host after the other, each for as long as it takes to
// get on, until the history answers as it should.
func restartUntil(t *testing.T, opts setup, query string, want int) {
	t.Helper()
	for got := ask(t, opts.Dir, query); got != want; {
		s := start(t, opts)
		before := got
		for deadline := time.Now().Add(20 * time.Second); got == before; got = ask(t, opts.Dir, query) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is %d, want %d", query, got, want)
			}
		}
		s.stop()
	}
}

// ask reads one number from a history.
func ask(t *testing.T, dir, query string) (n int) {
	t.Helper()
	if err := statetest.Raw(t, dir).QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAFullChatWaitsForTheSweep has nobody who makes room, since the channel
// does not run: beyond what one post may bring, files wait.
func TestAFullChatWaitsForTheSweep(t *testing.T) {
	opts := options(t.TempDir())
	opts.Quota, opts.Roll, opts.MaxUpload, opts.MaxFiles = 2500, true, 1000, 1
	w, err := opened(opts.opens(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := 1; ; n++ {
		_, err := w.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Files: outgoing("a.bin", "application/octet-stream", media.Document, make([]byte, 1000))})
		var e *channel.Error
		if errors.As(err, &e) && e.Code == "chat_full" && e.Class == channel.Passing && n == 5 {
			return
		}
		if err != nil || n == 5 {
			t.Fatalf("file %d: %v", n, err)
		}
	}
}

// TestWhatWasDeletedMeanwhileIsNotShownAgain sends a message twice at the same
// time, and has the first one deleted before the second one's bytes are there.
func TestWhatWasDeletedMeanwhileIsNotShownAgain(t *testing.T) {
	opts := options(t.TempDir())
	opts.Quota, opts.Roll, opts.MaxUpload, opts.MaxFiles = 1500, true, 1000, 1
	s := start(t, opts)
	body := make([]byte, 1000)
	quick := channel.Message{ID: newID(), Chat: "web:family", Text: "twice", Files: outgoing("a.bin", "application/octet-stream", media.Document, body)}
	slow := quick
	slow.Files = outgoing("a.bin", "application/octet-stream", media.Document, body)
	begun, proceed := make(chan struct{}), make(chan struct{})
	open := slow.Files[0].Open
	slow.Files[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) {
		close(begun)
		<-proceed
		return open()
	})
	ended := make(chan error, 1)
	go func() {
		_, err := s.Send(context.Background(), slow)
		ended <- err
	}()
	<-begun
	s.send(quick)
	s.send(channel.Message{Text: "next", Files: outgoing("b.bin", "application/octet-stream", media.Document, body)})
	s.until("next;")
	close(proceed)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.until("next;")
}

// TestALongChatKeepsItsNewestMessages: the other chat, which nobody writes to, keeps its own.
func TestALongChatKeepsItsNewestMessages(t *testing.T) {
	opts := options(t.TempDir())
	opts.Messages = 10
	s := start(t, opts)
	s.stop()
	alter(t, opts.Dir, fill, 300, "work")
	alter(t, opts.Dir, fill, 467, "family") // the next number is 768, at which the chat is looked at
	s = start(t, opts)
	s.send(channel.Message{Text: "new"})
	s.until(strings.Repeat("x;", 9) + "new;")
	if n := ask(t, opts.Dir, "SELECT COUNT(*) FROM page_message WHERE chat = 'work'"); n != 300 {
		t.Errorf("the other chat has %d messages", n)
	}
	if n := ask(t, opts.Dir, "SELECT COUNT(*) FROM page_gone WHERE chat = 'family'"); n != 458 {
		t.Errorf("%d messages are known as deleted", n)
	}
}
