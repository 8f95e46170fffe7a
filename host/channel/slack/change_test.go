package slack_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

// sent sends m, and is a change of it.
func (w *world) sent(t testing.TB, m channel.Message) channel.Change {
	t.Helper()
	r, err := w.attempt(t, m, &kept{})
	if err != nil || r.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	return channel.Change{ID: newID(), Chat: m.Chat, Thread: m.Thread, Target: r.ID, Sent: r.Time, Files: len(m.Files) > 0}
}

func (w *world) message(t testing.TB, ts string) slacktest.Message {
	t.Helper()
	for _, m := range w.Messages(id(w.desk)) {
		if m.TS == ts {
			return m
		}
	}
	t.Fatalf("the chat has no message %s", ts)
	return slacktest.Message{}
}

// An edit shows the new text as a text is shown, and twice the same.
func TestAnEditReplacesTheText(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	thread := w.Post(id(w.desk), w.ada, "a question")
	for _, in := range []string{"", thread} {
		m := w.text("half of it")
		m.Thread = in
		c := w.sent(t, m)
		c.Text = "*all* of it &lt;!channel&gt;"
		for range 2 {
			if err := w.ch.(channel.Editor).Edit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.message(t, c.Target); got.Text != c.Text || got.Thread != in || !got.Edited {
			t.Errorf("shown is %+v", got)
		}
	}
}

// chat.update may take files away that it does not name.
func TestAnEditedCaptionKeepsItsFiles(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	thread := w.Post(id(w.desk), w.ada, "a question")
	for _, in := range []string{"", thread} {
		m := w.files("two", "a", "bb")
		m.Thread = in
		c := w.sent(t, m)
		c.Text = "both of them"
		if err := w.ch.(channel.Editor).Edit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := w.message(t, c.Target); got.Text != c.Text || len(got.Files) != 2 {
			t.Errorf("shown is %+v", got)
		}
		w.Next("chat.update", slacktest.Fault{Error: "cant_update_message"})
		is(t, "refused", w.ch.(channel.Editor).Edit(t.Context(), c), channel.Permanent, "not_supported")
	}
}

func TestUnsendingLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for _, m := range []channel.Message{w.text("words"), w.files("words and files", "a", "bb"), w.files("", "a file")} {
		c := w.sent(t, m)
		files := w.message(t, c.Target).Files
		for range 2 { // nobody knows whether the first was made
			if err := w.ch.(channel.Unsender).Unsend(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.FromBot(id(w.desk)); len(got) != 0 {
			t.Errorf("shown is %+v", got)
		}
		for _, f := range files {
			if w.HasFile(f.ID) {
				t.Errorf("Slack has %s", f.Name)
			}
		}
	}
}

// The host dies between the steps, or Slack refuses one of them.
func TestUnsendingGoesOnAfterAFailure(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	c := w.sent(t, w.files("words and files", "a", "bb"))
	w.Next("files.delete", slacktest.Fault{}, slacktest.Fault{Status: 503})
	if err := w.ch.(channel.Unsender).Unsend(t.Context(), c); err == nil || channel.ClassOf(err) != channel.Passing {
		t.Errorf("%v", err)
	}
	w.Next("chat.delete", slacktest.Fault{Lost: true})
	if err := w.ch.(channel.Unsender).Unsend(t.Context(), c); err == nil {
		t.Error("the answer was lost")
	}
	if err := w.ch.(channel.Unsender).Unsend(t.Context(), c); err != nil || len(w.FromBot(id(w.desk))) != 0 {
		t.Errorf("%v; shown is %+v", err, w.FromBot(id(w.desk)))
	}
	c = w.sent(t, w.files("words and files", "a", "bb"))
	w.Next("files.delete", slacktest.Fault{Error: "file_deleting_disabled"})
	e := is(t, "a file is left", w.ch.(channel.Unsender).Unsend(t.Context(), c), channel.Permanent, "not_allowed")
	if got := w.FromBot(id(w.desk)); len(got) != 0 || !strings.Contains(e.Message, "keeps its file") {
		t.Errorf("%+v; shown is %+v", e, got)
	}
}

// reactions are the bot's on a message.
func (w *world) reactions(t testing.TB, ts string) (names []string) {
	t.Helper()
	all := w.message(t, ts).Reactions
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(all[name], w.BotUser) {
			names = append(names, name)
		}
	}
	return names
}

// A reaction takes the place of the one before, and the sign that the assistant works
// stays apart from both.
func TestAReactionReplacesTheOneBefore(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	ts := w.Post(id(w.desk), w.ada, "look")
	in.Wait(t, 1)
	typing := w.ch.(channel.Typing)
	typing.Typing(t.Context(), w.desk, "", true)
	react := func(emoji string, want ...string) {
		t.Helper()
		for range 2 {
			if err := w.ch.(channel.Reactor).React(t.Context(), channel.Change{ID: newID(), Chat: w.desk, Target: ts, Emoji: emoji}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, w.reactions(t, ts)); diff != "" {
			t.Errorf("after %q (-want +got)\n%s", emoji, diff)
		}
	}
	react("👍🏽", "+1::skin-tone-4", "eyes")
	react("❤", "eyes", "heart")
	typing.Typing(t.Context(), w.desk, "", false)
	react("❤️", "heart")
	react("")
	typing.Typing(t.Context(), w.desk, "", true)
	react("👀", "eyes")
	typing.Typing(t.Context(), w.desk, "", false)
	react("👀", "eyes") // is the assistant's own
	react("👩🏿‍💻", "female-technologist::skin-tone-6")
	react("🇩🇪", "de")
	react("")
	is(t, "two letters", w.ch.(channel.Reactor).React(t.Context(), channel.Change{Chat: w.desk, Target: ts, Emoji: "ok"}), channel.Permanent, "unknown_emoji")
}

// An older app lacks scopes that only changes need: its messages still go.
func TestAMissingScopeOfAChangeHoldsNothingUp(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	c := w.sent(t, w.text("words"))
	c.Emoji = "👍"
	w.SetScopes(slacktest.Without("reactions:read")...)
	if err := w.ch.(channel.Reactor).React(t.Context(), c); err != nil {
		t.Error(err)
	}
	w.SetScopes(slacktest.Without("reactions:write")...)
	e := is(t, "no scope", w.ch.(channel.Reactor).React(t.Context(), c), channel.Permanent, "slack_scope_missing")
	if !strings.Contains(e.Message, "reactions:write") || !strings.Contains(e.Hint, "longshore pair slack") {
		t.Errorf("%+v", e)
	}
	w.sent(t, w.text("more words"))
}

func TestWhatSlackAnswersToAChangeDecides(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	own := w.sent(t, w.text("words"))
	hers, none := own, own
	hers.Target, none.Target = w.Post(id(w.desk), w.ada, "hers"), "1600000000.000001"
	edit := func(c channel.Change) error {
		c.Text = "other words"
		return w.ch.(channel.Editor).Edit(t.Context(), c)
	}
	unsend := func(c channel.Change) error { return w.ch.(channel.Unsender).Unsend(t.Context(), c) }
	react := func(c channel.Change) error {
		c.Emoji = "👍"
		return w.ch.(channel.Reactor).React(t.Context(), c)
	}
	for _, tt := range []struct {
		method string
		make   func(channel.Change) error
		of     channel.Change
		fault  slacktest.Fault
		class  channel.Class
		code   string
	}{
		{"chat.update", edit, hers, slacktest.Fault{}, channel.Permanent, "not_your_message"},
		{"chat.update", edit, none, slacktest.Fault{}, channel.Permanent, "unknown_message"},
		{"chat.update", edit, own, slacktest.Fault{Error: "edit_window_closed"}, channel.Permanent, "too_late"},
		{"chat.update", edit, own, slacktest.Fault{Error: "msg_too_long"}, channel.Permanent, "text_too_long"},
		{"chat.update", edit, own, slacktest.Fault{Lost: true}, channel.Ambiguous, "no_answer"},
		{"chat.update", edit, own, slacktest.Fault{Status: 429, RetryAfter: 7}, channel.Passing, "rate_limited"},
		{"chat.delete", unsend, hers, slacktest.Fault{}, channel.Permanent, "not_your_message"},
		{"chat.delete", unsend, own, slacktest.Fault{Error: "compliance_exports_prevent_deletion"}, channel.Permanent, "not_allowed"},
		{"chat.delete", unsend, own, slacktest.Fault{Error: "token_revoked"}, channel.Held, "slack_token_revoked"},
		{"reactions.add", react, none, slacktest.Fault{}, channel.Permanent, "unknown_message"},
		{"reactions.add", react, own, slacktest.Fault{Error: "invalid_name"}, channel.Permanent, "unknown_emoji"},
		{"reactions.add", react, own, slacktest.Fault{Error: "too_many_emoji"}, channel.Permanent, "not_allowed"},
		{"reactions.add", react, own, slacktest.Fault{Status: 503}, channel.Passing, "not_connected"},
	} {
		w.Next(tt.method, tt.fault)
		if e := is(t, tt.method+" "+tt.code, tt.make(tt.of), tt.class, tt.code); e.Hint == "" && tt.class == channel.Permanent {
			t.Errorf("%s has no remedy", tt.code)
		}
	}
}

// TestARefusedEmojiNamedNoOther: the assistant tried one after another.
func TestARefusedEmojiNamedNoOther(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	ts := w.Post(id(w.desk), w.ada, "look")
	in.Wait(t, 1)
	err := w.ch.(channel.Reactor).React(t.Context(), channel.Change{ID: newID(), Chat: w.desk, Target: ts, Emoji: "🫪"})
	is(t, "an emoji that is too new", err, channel.Permanent, "unknown_emoji")
	var e *channel.Error
	if errors.As(err, &e); e == nil || !strings.Contains(e.Hint, "🫩") {
		t.Errorf("%+v", e)
	}
}
