package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
)

const ann, bob = "secret-of-the-browser-of-ann", "secret-of-the-browser-of-bob"

// act does something to a message as a page does, and returns the answer's status.
func (s *site) act(fields map[string]any) (int, string) {
	s.t.Helper()
	b, err := json.Marshal(fields)
	s.must(err)
	res, body := s.do("POST", "/api/chats/family/acts", bytes.NewReader(b), "Content-Type", "application/json")
	return res.StatusCode, string(body)
}

func (s *site) acts(fields map[string]any) {
	s.t.Helper()
	if status, body := s.act(fields); status != 200 {
		s.t.Fatalf("%v answered %d: %s", fields, status, body)
	}
}

// writes posts as the browser with that secret.
func (s *site) writes(secret, text string, files ...attachment) string {
	s.t.Helper()
	return s.posted(s.upload(map[string]string{"text": text, "from": "Ann", "secret": secret}, files...))[0].ID
}

// mark asks for the mark of a secret.
func (s *site) mark(secret string) string {
	s.t.Helper()
	res, body := s.do("POST", "/api/mark", strings.NewReader(`{"secret": "`+secret+`"}`), "Content-Type", "application/json")
	var own struct{ Author string }
	if err := json.Unmarshal(body, &own); err != nil || res.StatusCode != 200 || own.Author == "" {
		s.t.Fatalf("%d %s", res.StatusCode, body)
	}
	return own.Author
}

// did waits until the host has n acts of members, and returns them.
func (s *site) did(n int) (all []channel.Inbound) {
	s.t.Helper()
	s.in.wait(s.t, func() bool {
		all = nil
		for _, m := range s.in.kept {
			if m.Kind != channel.KindMessage {
				all = append(all, m)
			}
		}
		return len(all) >= n
	})
	return all
}

func (s *site) ask(several bool, choices ...string) string {
	s.t.Helper()
	return s.send(channel.Message{Text: "Which day?", Poll: &channel.Poll{Choices: choices, Several: several}}).ID
}

func TestWhatMembersDoToMessagesReachesPagesAndTheHostOnce(t *testing.T) {
	s := start(t, options(t.TempDir()))
	answer := s.send(channel.Message{Text: "Done."}).ID
	mine := s.writes(ann, "Thnaks", attachment{"a.txt", []byte("one")}, attachment{"b.txt", []byte("two")})
	page := s.listen("")
	for range 2 { // the second time, since the answer to the first was lost
		s.acts(map[string]any{"kind": "reaction", "target": answer, "secret": ann, "from": "Ann", "emoji": "👍🏽"})
	}
	s.did(1)
	if _, m := page.changed(); len(m.Reactions) != 1 || m.Reactions[0] != (history.Reaction{Emoji: "👍🏽", Name: "Ann", Who: s.mark(ann)}) {
		t.Errorf("the page hears of %+v", m.Reactions)
	}
	s.must(s.React(t.Context(), channel.Change{Chat: "web:family", Target: answer, Emoji: "👍🏽"}))
	if _, m := page.changed(); len(m.Reactions) != 2 {
		t.Errorf("with the assistant's: %+v", m.Reactions)
	}
	s.acts(map[string]any{"kind": "reaction", "target": answer, "secret": ann, "from": "Ann"})
	s.did(2)
	s.acts(map[string]any{"kind": "reaction", "target": mine + "-2", "secret": bob, "from": "Bob", "emoji": "1️⃣"})
	s.acts(map[string]any{"kind": "edit", "target": mine, "secret": ann, "from": "Ann", "text": "Thanks"})
	s.did(4)
	s.acts(map[string]any{"kind": "deletion", "target": mine, "secret": ann, "from": "Ann"})
	base := channel.Inbound{Chat: "web:family", From: "Ann", Role: channel.RoleAdmin}
	with := func(kind channel.Kind, target string, more func(*channel.Inbound)) channel.Inbound {
		in := base
		in.Kind, in.Target = kind, target
		more(&in)
		return in
	}
	want := []channel.Inbound{
		with(channel.KindReaction, answer, func(in *channel.Inbound) { in.Emoji = "👍🏽" }),
		with(channel.KindReaction, answer, func(*channel.Inbound) {}),
		with(channel.KindReaction, mine, func(in *channel.Inbound) { in.From, in.Emoji = "Bob", "1️⃣" }),
		with(channel.KindEdit, mine, func(in *channel.Inbound) { in.Text = "Thanks" }),
		with(channel.KindDeletion, mine, func(*channel.Inbound) {}),
	}
	got := s.did(len(want))
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(channel.Inbound{}, "ID", "Time")); diff != "" {
		t.Error(diff)
	}
	for _, m := range s.history("")[1:] {
		if !m.Removed || m.File != nil || m.Text != "" {
			t.Errorf("left of what was deleted: %+v", m)
		}
	}
}

func TestMembersChangeTheirOwnMessagesOnly(t *testing.T) {
	s := start(t, options(t.TempDir()))
	answer, mine := s.send(channel.Message{Text: "Done."}).ID, s.writes(ann, "hello", attachment{"a.txt", []byte("one")}, attachment{"b.txt", []byte("two")})
	anonymous := s.say("without a mark").ID
	poll := s.ask(false, "Monday", "Tuesday")
	for name, tt := range map[string]struct {
		fields map[string]any
		code   string
	}{
		"another's edit":       {map[string]any{"kind": "edit", "target": mine, "secret": bob, "text": "x"}, "not_your_message"},
		"another's deletion":   {map[string]any{"kind": "deletion", "target": mine, "secret": bob}, "not_your_message"},
		"the assistant's":      {map[string]any{"kind": "deletion", "target": answer, "secret": bob}, "not_your_message"},
		"nobody's":             {map[string]any{"kind": "deletion", "target": anonymous, "secret": ann}, "not_your_message"},
		"by the public mark":   {map[string]any{"kind": "deletion", "target": mine, "secret": s.mark(ann)}, "bad_key"},
		"by what is in a mark": {map[string]any{"kind": "deletion", "target": mine, "secret": s.mark(ann)[1:]}, "not_your_message"},
		"a mark beside":        {map[string]any{"kind": "deletion", "target": mine, "secret": bob, "author": s.mark(ann)}, "bad_key"},
		"a guessable secret":   {map[string]any{"kind": "deletion", "target": mine, "secret": "short-one"}, "bad_key"},
		"half a post":          {map[string]any{"kind": "deletion", "target": mine + "-2", "secret": ann}, "bad_target"},
		"no secret":            {map[string]any{"kind": "deletion", "target": mine, "secret": ""}, "bad_key"},
		"an unknown message":   {map[string]any{"kind": "deletion", "target": "x", "secret": ann}, "unknown_message"},
		"a path":               {map[string]any{"kind": "deletion", "target": "../x", "secret": ann}, "bad_target"},
		"words as an emoji":    {map[string]any{"kind": "reaction", "target": mine, "secret": ann, "emoji": "buy"}, "bad_emoji"},
		"hidden as an emoji":   {map[string]any{"kind": "reaction", "target": mine, "secret": ann, "emoji": "\u202e"}, "bad_emoji"},
		"many emojis":          {map[string]any{"kind": "reaction", "target": mine, "secret": ann, "emoji": strings.Repeat("👍", 17)}, "bad_emoji"},
		"a text beside":        {map[string]any{"kind": "reaction", "target": mine, "secret": ann, "emoji": "👍", "text": "x"}, "bad_kind"},
		"a kind of the host's": {map[string]any{"kind": "membership", "target": mine, "secret": ann}, "bad_kind"},
		"too long":             {map[string]any{"kind": "edit", "target": mine, "secret": ann, "text": strings.Repeat("x", 20_001)}, "text_too_long"},
		"an unknown field":     {map[string]any{"kind": "edit", "target": mine, "secret": ann, "text": "x", "assistant": true}, "bad_json"},
		"a vote on no poll":    {map[string]any{"kind": "vote", "target": mine, "secret": ann, "choices": []string{"x"}}, "bad_target"},
		"an unknown choice":    {map[string]any{"kind": "vote", "target": poll, "secret": ann, "choices": []string{"x"}}, "bad_choice"},
		"a choice twice":       {map[string]any{"kind": "vote", "target": poll, "secret": ann, "choices": []string{"Monday", "Monday"}}, "bad_choice"},
		"two of one":           {map[string]any{"kind": "vote", "target": poll, "secret": ann, "choices": []string{"Monday", "Tuesday"}}, "bad_choice"},
	} {
		if status, body := s.act(tt.fields); status < 400 || status >= 500 || !strings.Contains(body, `"`+tt.code+`"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for _, m := range s.history("") {
		if m.Edited || m.Removed || m.Reactions != nil {
			t.Errorf("changed: %+v", m)
		}
	}
	if got := s.in.received(); len(got) != 2 {
		t.Errorf("the host got %+v", got)
	}
}

// Everybody sees the mark of a browser. A page shows what bears its own as "You".
func TestNobodyPostsUnderTheMarkOfAnother(t *testing.T) {
	s := start(t, options(t.TempDir()))
	s.writes(ann, "hello")
	mark := s.history("")[0].Author
	body, kind := form(t, map[string]string{"text": "I quit", "from": "Ann", "author": mark})
	if res, got := s.do("POST", "/api/chats/family/messages", body, "Content-Type", kind); res.StatusCode != 400 || !strings.Contains(string(got), `"bad_key"`) {
		t.Errorf("%d %s", res.StatusCode, got)
	}
	s.upload(map[string]string{"text": "I stay", "from": "Ann", "secret": ann, "author": mark[1:]})
	if all := s.history(""); len(all) != 2 || all[1].Author != mark {
		t.Errorf("the chat has %+v", all)
	}
}

func TestTwoPeopleOfOneNameVoteApart(t *testing.T) {
	opts := options(t.TempDir())
	s := start(t, opts)
	poll := s.ask(true, "Monday", "Tuesday", "Friday")
	vote := func(secret, name string, choices ...string) {
		s.acts(map[string]any{"kind": "vote", "target": poll, "secret": secret, "from": name, "choices": choices})
	}
	vote(ann, "Member", "Friday", "Monday")
	s.did(1)
	vote(bob, "Member", "Monday")
	s.did(2)
	vote(ann, "Ann", "Tuesday") // who has taken another name meanwhile
	vote(ann, "Ann", "Tuesday")
	s.did(3)
	vote(bob, "Member")
	for i, want := range []channel.Inbound{
		{From: "Member", Choices: []string{"Monday", "Friday"}}, {From: "Member (2)", Choices: []string{"Monday"}},
		{From: "Member", Choices: []string{"Tuesday"}}, {From: "Member (2)"},
	} {
		want.Kind, want.Target, want.Chat, want.Role = channel.KindVote, poll, "web:family", channel.RoleAdmin
		if diff := cmp.Diff(want, s.did(4)[i], cmpopts.IgnoreFields(channel.Inbound{}, "ID", "Time"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	end := to(poll)
	end.Text = "Tuesday it is."
	for range 2 {
		s.must(s.EndPoll(t.Context(), end))
	}
	s.stop()
	s = start(t, opts) // the next host shows the same
	want := &history.Poll{Choices: []string{"Monday", "Tuesday", "Friday"}, Several: true, Ended: true, Outcome: "Tuesday it is.",
		Votes: []history.Vote{{Who: s.mark(ann), Name: "Member", Choices: []string{"Tuesday"}}, {Who: s.mark(bob), Name: "Member (2)", Choices: []string{}}}}
	if diff := cmp.Diff(want, s.history("")[0].Poll); diff != "" {
		t.Error(diff)
	}
	if status, body := s.act(map[string]any{"kind": "vote", "target": poll, "secret": ann, "choices": []string{"Monday"}}); status != 409 {
		t.Errorf("a vote on a closed question: %d %s", status, body)
	}
	s.must(s.Unsend(t.Context(), to(poll)))
	if m := s.history("")[0]; m.Poll != nil || !m.Removed {
		t.Errorf("left of the question: %+v", m)
	}
}

// A vote that was answered is the host's, also if the host was killed before it had it;
// and it comes behind the post that was there before it.
func TestAVoteWaitsForTheNextHost(t *testing.T) {
	opts := options(t.TempDir())
	in := newInbox()
	var closed atomic.Bool
	closed.Store(true)
	in.receive = func(context.Context, channel.Inbound) error {
		if closed.Load() {
			return errors.New("the host takes nothing now")
		}
		return nil
	}
	s := startWith(t, opts, in)
	poll := s.ask(false, "Monday", "Tuesday")
	s.writes(ann, "before")
	for _, day := range []string{"Monday", "Tuesday"} { // only the latest waits
		s.acts(map[string]any{"kind": "vote", "target": poll, "secret": ann, "from": "Ann", "choices": []string{day}})
	}
	s.writes(ann, "after")
	s.stop()
	closed.Store(false)
	s = startWith(t, opts, in)
	s.in.wait(t, func() bool { return len(s.in.kept) >= 3 })
	var got []string
	for _, m := range s.in.received() {
		got = append(got, fmt.Sprint(m.Text, m.Choices))
	}
	if diff := cmp.Diff([]string{"before[]", "[Tuesday]", "after[]"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPollThatCannotBeShownIsRefused(t *testing.T) {
	s := start(t, options(t.TempDir()))
	for name, choices := range map[string][]string{
		"one": {"a"}, "many": strings.Split(strings.Repeat("x,", 20)+"y", ","), "twice": {"a", "a"}, "empty": {"a", ""}, "long": {"a", strings.Repeat("x", 201)},
	} {
		_, err := s.Send(t.Context(), channel.Message{ID: newID(), Chat: "web:family", Text: "?", Poll: &channel.Poll{Choices: choices}})
		var e *channel.Error
		if !errors.As(err, &e) || e.Class != channel.Permanent || e.Code != "bad_poll" {
			t.Errorf("%s: %v", name, err)
		}
	}
	id := newID()
	for range 2 { // nobody knew whether the first was sent
		s.send(channel.Message{ID: id, Chat: groups.JID("web:family"), Text: "?", Poll: &channel.Poll{Choices: []string{"a", "b"}}})
	}
	if n := len(s.history("")); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// FuzzActs: whatever a page says was done to a message, the host gets one bounded act of
// a known kind or none, and nothing breaks inside.
func FuzzActs(f *testing.F) {
	s := start(f, options(f.TempDir()))
	for _, seed := range []string{
		`{"kind":"reaction","target":"POLL","secret":"abcdefghijklmnopqrst","from":"Ann","emoji":"👍"}`, `{"kind":"reaction","target":"POLL","secret":"abcdefghijklmnopqrst"}`,
		`{"kind":"edit","target":"POST","secret":"abcdefghijklmnopqrst","text":"x\u0000\u202e"}`, `{"kind":"vote","target":"POLL","secret":"abcdefghijklmnopqrst","choices":["a","b"]}`,
		`{"kind":"vote","target":"POLL","secret":"abcdefghijklmnopqrst","from":"\u200b","choices":["c"]}`, `{"kind":"deletion","target":"POST-2","secret":"abcdefghijklmnopqrst"}`,
		`{"kind":"","target":"POST"}`, `{"kind":"edit"}{}`, "\xff", `{"choices":null}`,
	} {
		f.Add([]byte(seed))
	}
	poll, post := s.ask(true, "a", "b"), s.writes("abcdefghijklmnopqrst", "hello")
	s.in.take()
	f.Fuzz(func(t *testing.T, body []byte) {
		body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("POLL"), []byte(poll)), []byte("POST"), []byte(post))
		res := s.serve(t.Context(), "POST /api/chats/family/acts HTTP/1.1\nContent-Type: application/json\n", body)
		if res.StatusCode >= 500 && res.StatusCode != 507 {
			t.Errorf("%q answered %s", body, res.Status)
		}
		for _, in := range s.in.take() {
			if len([]rune(in.Emoji)) > 16 || len([]rune(in.Text)) > 20_000 || channel.CleanName(in.From) != in.From || len(in.Choices) > 2 || in.Target != poll && in.Target != post {
				t.Errorf("%q: the host got %+v", body, in)
			}
		}
	})
}
