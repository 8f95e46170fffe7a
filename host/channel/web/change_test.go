package web_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/media"
)

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func to(id string) channel.Change {
	return channel.Change{ID: newID(), Chat: "web:family", Target: id}
}

// changed is the next change that a page hears of.
func (l *live) changed() (n int64, m history.Message) {
	l.t.Helper()
	for {
		e := l.next()
		if e.kind != "change" {
			continue
		}
		var c struct {
			N       int64           `json:"n"`
			Message history.Message `json:"message"`
		}
		if err := json.Unmarshal([]byte(e.data), &c); err != nil {
			l.t.Fatal(err)
		}
		return c.N, c.Message
	}
}

func TestAnEditIsShownOnceAndOpenPagesChangeInPlace(t *testing.T) {
	s := start(t, options(t.TempDir()))
	id := s.send(channel.Message{Text: "10 %"}).ID
	page := s.listen("")
	c := to(id)
	c.Text = "50 %"
	s.must(s.Edit(t.Context(), c))
	first, m := page.changed()
	if m.ID != id || m.Text != "50 %" || !m.Edited {
		t.Errorf("the page hears of %+v", m)
	}
	s.must(s.Edit(t.Context(), c)) // again, since nobody knew whether it was made
	c.Text = "100 %"
	s.must(s.Edit(t.Context(), c))
	if n, m := page.changed(); n != first+1 || m.Text != "100 %" {
		t.Errorf("change %d after %d: %+v", n, first, m)
	}
	if all := s.history(""); len(all) != 1 || all[0].Text != "100 %" || !all[0].Edited {
		t.Errorf("the history has %+v", all)
	}
}

// A page that was away when an old message changed would have shown the old text for
// ever: it catches up by the number of the last change that it knows.
func TestAPageThatWasAwayHearsOfChanges(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	old := s.send(channel.Message{Text: "old"}).ID
	other := s.send(channel.Message{Text: "other"}).ID
	var page struct {
		Changed int64 `json:"changed"`
	}
	_, body := s.do("GET", "/api/chats/family/messages", nil)
	s.must(json.Unmarshal(body, &page))
	c := to(old)
	for _, c.Text = range []string{"new", "newest"} {
		s.must(s.Edit(t.Context(), c))
	}
	s.must(s.Unsend(t.Context(), to(other)))
	s.stop()
	s = start(t, opts) // also by the next host
	l := s.listen("?after=" + other + "&changed=0")
	if _, m := l.changed(); m.ID != old || m.Text != "newest" {
		t.Errorf("first %+v", m)
	}
	if _, m := l.changed(); m.ID != other || !m.Removed {
		t.Errorf("second %+v", m)
	}
	for query, want := range map[string]int{"?changed=x": 400, "?changed=-1": 400} {
		if res, _ := s.do("GET", "/api/chats/family/events"+query, nil); res.StatusCode != want {
			t.Errorf("%s answered %d", query, res.StatusCode)
		}
	}
}

func TestARemovedMessageLeavesNeitherTextNorBytes(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	for name, size := range map[string]int{"small": 100, "large": 100_000} {
		body := []byte(strings.Repeat("s", size))
		id := s.send(channel.Message{Text: "the secret", Files: outgoing(name+".txt", "text/plain", media.Document, body)}).ID
		react := to(id)
		react.Emoji = "👍"
		s.must(s.React(t.Context(), react))
		all := s.history("")
		m := all[len(all)-1]
		if len(m.Reactions) != 1 || m.Reactions[0].Emoji != "👍" || m.Reactions[0].Who != "" {
			t.Errorf("%s: reactions %+v", name, m.Reactions)
		}
		s.must(s.Unsend(t.Context(), to(id)))
		s.must(s.Unsend(t.Context(), to(id)))
		s.must(s.React(t.Context(), react)) // which came later than the removal
		if all = s.history(""); !all[len(all)-1].Removed || all[len(all)-1].Text != "" || all[len(all)-1].File != nil || all[len(all)-1].Reactions != nil {
			t.Errorf("%s: still there: %+v", name, all[len(all)-1])
		}
		if res, _ := s.do("GET", m.File.URL, nil); res.StatusCode != 404 {
			t.Errorf("%s: the file answers %d", name, res.StatusCode)
		}
	}
	if names := stored(t, opts.Dir); len(names) != 0 {
		t.Errorf("files left: %q", names)
	}
	// The same Send again, as after a crash, shows nothing.
	s.stop()
	s = start(t, opts)
	if n := len(s.history("")); n != 2 {
		t.Errorf("%d messages after a restart", n)
	}
}

func TestReactionsAreTakenBack(t *testing.T) {
	s := start(t, options(t.TempDir()))
	said := s.say("done")
	c := to(said.ID)
	for _, c.Emoji = range []string{"👀", "✅", ""} {
		s.must(s.React(t.Context(), c))
		m := s.history("")[0]
		if c.Emoji == "" && m.Reactions == nil {
			continue
		}
		if len(m.Reactions) != 1 || m.Reactions[0].Emoji != c.Emoji {
			t.Errorf("after %q: %+v", c.Emoji, m.Reactions)
		}
	}
}

func TestOnlyTheAssistantsMessagesAreEdited(t *testing.T) {
	s := start(t, options(t.TempDir()))
	said := s.say("what a member said")
	c := to(said.ID)
	c.Text = "something else"
	s.must(s.Edit(t.Context(), c))
	if m := s.history("")[0]; m.Text != "what a member said" || m.Edited {
		t.Errorf("%+v", m)
	}
	c.Target = "nobodys"
	for name, do := range map[string]func() error{
		"unknown": func() error { return s.Edit(t.Context(), c) },
		"elsewhere": func() error {
			return s.Edit(t.Context(), channel.Change{Chat: "web:nobody", Target: said.ID, Text: "x"})
		},
		"too long": func() error {
			return s.Edit(t.Context(), channel.Change{Chat: "web:family", Target: said.ID, Text: strings.Repeat("x", 200_000)})
		},
	} {
		var e *channel.Error
		if err := do(); !errors.As(err, &e) || e.Class != channel.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each page that caught up held one connection to the history and waited for another:
// when several came back at once, the chat stood still for everybody.
func TestManyPagesThatComeBackTogetherDoNotHoldEachOtherUp(t *testing.T) {
	s := start(t, options(t.TempDir()))
	var last string
	for range 20 {
		last = s.send(channel.Message{Text: "old"}).ID
		c := to(last)
		c.Text = "new"
		s.must(s.Edit(t.Context(), c))
	}
	pages := make(chan string)
	for range 12 {
		page := s.listen("?changed=0")
		go func() {
			var m history.Message
			for m.ID != last {
				_, m = page.changed()
			}
			pages <- m.Text
		}()
	}
	for range 12 {
		if text := <-pages; text != "new" {
			t.Errorf("a page hears of %q", text)
		}
	}
}

func TestAReactionOfNothingToSeeIsNoMark(t *testing.T) {
	s := start(t, options(t.TempDir()))
	c := to(s.send(channel.Message{Text: "x"}).ID)
	c.Emoji = "\u200d\u2060"
	s.must(s.React(t.Context(), c))
	if m := s.history("")[0]; len(m.Reactions) != 0 {
		t.Errorf("%+v", m.Reactions)
	}
}
