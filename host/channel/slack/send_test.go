package slack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/ladder"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

func TestWhatSlackAnswersDecides(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	refusal := func(word string) slacktest.Fault { return slacktest.Fault{Error: word} }
	for _, tt := range []struct {
		fault slacktest.Fault
		class channel.Class
		code  string
	}{
		{slacktest.Fault{Status: 429, RetryAfter: 7}, channel.Passing, "rate_limited"},
		{slacktest.Fault{Status: 503}, channel.Passing, "rate_limited"},
		{slacktest.Fault{Status: 500}, channel.Ambiguous, "no_answer"},
		{slacktest.Fault{Lost: true}, channel.Ambiguous, "no_answer"},
		{refusal("ratelimited"), channel.Passing, "rate_limited"},
		{refusal("service_unavailable"), channel.Passing, "not_connected"},
		{refusal("fatal_error"), channel.Ambiguous, "no_answer"},
		{refusal("invalid_auth"), channel.Held, "slack_token_refused"},
		{refusal("token_revoked"), channel.Held, "slack_token_revoked"},
		{refusal("account_inactive"), channel.Held, "slack_token_revoked"},
		{refusal("missing_scope"), channel.Held, "slack_scope_missing"},
		{refusal("access_denied"), channel.Held, "slack_suspended"},
		{refusal("is_archived"), channel.Permanent, "chat_archived"},
		{refusal("not_in_channel"), channel.Permanent, "not_a_member"},
		{refusal("channel_not_found"), channel.Permanent, "unknown_chat"},
		{refusal("restricted_action"), channel.Permanent, "not_allowed"},
		{refusal("msg_too_long"), channel.Permanent, "text_too_long"},
		{refusal("a word of tomorrow\u202e"), channel.Permanent, "message_refused"},
	} {
		w.Next("chat.postMessage", tt.fault)
		_, err := w.ch.Send(t.Context(), w.text("hello"))
		e := is(t, fmt.Sprintf("%+v", tt.fault), err, tt.class, tt.code)
		if strings.Contains(e.Error(), "\u202e") || tt.fault.RetryAfter > 0 && e.RetryAfter != 7*time.Second {
			t.Errorf("%+v: %+v", tt.fault, e)
		}
		if tt.code != "no_answer" && tt.code != "message_refused" && e.Hint == "" {
			t.Errorf("%+v has no remedy", tt.fault)
		}
	}
	for word, code := range map[string]string{
		"file_uploads_disabled": "uploads_disabled", "file_uploads_except_images_disabled": "uploads_disabled",
		"file_type_not_allowed": "type_not_allowed", "file_upload_size_restricted": "file_too_large",
	} {
		w.Next("files.getUploadURLExternal", refusal(word))
		_, err := w.ch.Send(t.Context(), w.files("", "bytes"))
		is(t, word, err, channel.Permanent, code)
	}
	for _, absurd := range []int{1 << 33, 1 << 40} { // centuries; more than time has room for
		w.Next("files.getUploadURLExternal", slacktest.Fault{Status: 429, RetryAfter: absurd})
		_, err := w.ch.Send(t.Context(), w.files("", "bytes"))
		if e := is(t, "centuries", err, channel.Passing, "rate_limited"); e.RetryAfter < 0 || e.RetryAfter > time.Hour {
			t.Errorf("Slack says %d, and the host waits %s", absurd, e.RetryAfter)
		}
	}
	if got := w.FromBot(id(w.desk)); len(got) != 1 { // the one whose answer was lost
		t.Errorf("shown was %v", got)
	}
}

func TestTheStatusSaysWhatAnAdminHasToSeeTo(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	w.Next("files.getUploadURLExternal", slacktest.Fault{Error: "file_uploads_disabled"})
	if _, err := w.ch.Send(t.Context(), w.files("", "bytes")); err == nil {
		t.Fatal("sent")
	}
	w.status(t, func(ok bool, detail string) bool { return ok && strings.Contains(detail, "File Uploading") })
	for _, m := range []channel.Message{w.text("texts go"), w.files("", "bytes")} {
		w.status(t, func(ok bool, detail string) bool { return ok && strings.Contains(detail, "File Uploading") })
		if _, err := w.ch.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if detail := w.status(t, func(ok bool, _ string) bool { return ok }); detail != "connected as longshore in Loopback" {
		t.Errorf("after it was allowed: %q", detail)
	}
}

// Slack has the text and its answer is lost: the chat is asked, in the thread and out
// of it, also behind a page of others' messages.
func TestALostAnswerIsLookedFor(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	thread := w.Post(id(w.desk), w.ada, "a question")
	for _, in := range []string{"", thread, "1600000000.000001"} { // the last one is gone
		m := w.text("the answer")
		m.Thread = in
		if r, err := w.find(t, m, &kept{}); r != nil || err != nil {
			t.Errorf("before: %v, %v", r, err)
		}
		w.Next("chat.postMessage", slacktest.Fault{Lost: true})
		_, err := w.ch.Send(t.Context(), m)
		is(t, "lost", err, channel.Ambiguous, "no_answer")
		for range 120 {
			w.PostInThread(id(w.desk), in, w.ada, "meanwhile")
		}
		r, err := w.find(t, m, &kept{})
		all := w.FromBot(id(w.desk))
		if err != nil || r == nil || r.ID != all[len(all)-1].TS || (r.Note != "") != (in != "" && in != thread) {
			t.Errorf("in %q: %+v, %v", in, r, err)
		}
	}
	w.Always("conversations.history", slacktest.Fault{Error: "missing_scope"})
	_, err := w.find(t, w.text("unknown"), &kept{})
	is(t, "where the history may not be read", err, channel.Held, "slack_scope_missing")
}

// One message of another app or in a form of tomorrow made a page of the history unreadable, and
// with it the search for our own.
func TestAMessageInAnotherFormHidesNoOther(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m := w.text("the answer")
	w.Next("chat.postMessage", slacktest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), m)
	is(t, "lost", err, channel.Ambiguous, "no_answer")
	for _, form := range []map[string]any{
		{"text": "an app's", "metadata": map[string]any{"event_type": "order", "event_payload": map[string]any{"id": 7, "open": true}}},
		{"text": "tomorrow's", "blocks": []any{map[string]any{"type": "section", "text": "no object"}}, "attachments": []any{map[string]any{"id": "one", "fields": "none"}}},
		{"text": "a file's", "files": []any{map[string]any{"id": "F0TOMORROW", "size": 1.5, "shares": []any{}}}},
	} {
		ts := w.dispatch(t, w.desk, form)
		if r, err := w.find(t, m, &kept{}); r == nil || err != nil {
			t.Errorf("below %v: %+v, %v", form, r, err)
		}
		if err := w.ch.(channel.Reactor).React(t.Context(), channel.Change{ID: newID(), Chat: w.desk, Target: ts, Emoji: "👍"}); err != nil {
			t.Errorf("a reaction to %v: %v", form, err)
		}
	}
}

// A host whose clock was ahead looked for its message among those to come, and sent it again.
func TestAHostWhoseClockIsAheadFindsWhatItSent(t *testing.T) {
	w := newWorld(t)
	w.Ahead = -24 * time.Hour
	w.run(t)
	m := w.text("once")
	m.Since = time.Now()
	w.Next("chat.postMessage", slacktest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), m)
	is(t, "lost", err, channel.Ambiguous, "no_answer")
	if r, err := w.find(t, m, &kept{}); err != nil || r == nil {
		t.Errorf("Find says %+v, %v", r, err)
	}
	m.Since = time.Now().Add(24 * time.Hour) // the clock was set back since
	if r, err := w.find(t, m, &kept{}); err != nil || r == nil {
		t.Errorf("after the clock was set back, Find says %+v, %v", r, err)
	}
}

func TestAThreadThatIsGoneFallsBackToTheChat(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for what, fault := range map[string]slacktest.Fault{"Slack posts to the chat by itself": {}, "Slack refuses": {Error: "thread_not_found"}} {
		for _, m := range []channel.Message{w.text("a text"), w.files("a file", "bytes")} {
			m.Thread = "1600000000.000001"
			method := "chat.postMessage"
			if len(m.Files) > 0 {
				method = "files.completeUploadExternal"
			}
			w.Next(method, fault)
			r, err := channeltest.Descend(t.Context(), w.ch, m)
			if err != nil || r.Pending || !strings.Contains(r.Note, "the thread is gone, so it ") {
				t.Errorf("%s, %d files: %+v, %v", what, len(m.Files), r, err)
			}
		}
	}
	for _, m := range w.FromBot(id(w.desk)) {
		if m.Thread != "" {
			t.Errorf("in a thread: %+v", m)
		}
	}
}

// Each word is known for what it refuses.
func TestEveryWordThatRefusesAFormGoesOneRungDown(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	n := 0
	for _, row := range slack.Refusals {
		for said := range strings.SplitSeq(row.On, "|") {
			if row.Form == "" {
				continue
			}
			n++
			m := w.text("in a thread")
			m.Thread = w.Post(id(w.desk), w.ada, "a question")
			w.Next("chat.postMessage", slacktest.Fault{Error: said})
			_, err := w.ch.Send(t.Context(), m)
			if e := is(t, said, err, channel.Permanent, row.Code); e.Form != row.Form {
				t.Errorf("%s: %+v", said, e)
			}
			if _, note, ok := ladder.Down(m, err, w.ch.Limits()); !ok || !strings.HasPrefix(note, row.Words) {
				t.Errorf("%s: %q", said, note)
			}
		}
	}
	if n < 6 {
		t.Errorf("%d words refuse a form", n)
	}
}

// An answer goes into the thread of what it answers.
func TestAnAnswerGoesBelowItsQuestion(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	parent := w.Post(id(w.desk), w.ada, "a question")
	reply := w.PostInThread(id(w.desk), parent, w.ada, "and another")
	for to, want := range map[string]string{parent: parent, reply: parent, "1600000000.000001": "", "no ts": ""} {
		m := w.text("an answer")
		m.ReplyTo = to
		r, err := channeltest.Descend(t.Context(), w.ch, m)
		all := w.FromBot(id(w.desk))
		if last := all[len(all)-1]; err != nil || last.TS != r.ID || last.Thread != want {
			t.Errorf("to %s: %+v, %v; is in %q", to, r, err, last.Thread)
		}
	}
}

func TestAChatGetsItsMessagesAtItsRate(t *testing.T) {
	w := newWorld(t)
	w.setup.Settings.(*slack.Settings).Rate = groups.Rate{PerMinute: 1, Burst: 2}
	w.made(t).run(t)
	for range 2 {
		if _, err := w.ch.Send(t.Context(), w.text("hello")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.ch.Send(t.Context(), w.text("hello"))
	if e := is(t, "the third", err, channel.Passing, "rate_limited"); e.RetryAfter <= 0 {
		t.Errorf("%+v says not when", e)
	}
	m := w.text("elsewhere")
	m.Chat = w.office
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// A text cannot wake everybody or show previews: what is not markup was escaped
// before, and Slack is told to look for nothing.
func TestATextGoesAsItIs(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m := w.text("*bold* &lt;!channel&gt; <https://example.org|a link> @here #general")
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := w.FromBot(id(w.desk))[0]
	if got.Text != m.Text || got.Metadata.EventPayload["id"] != m.ID {
		t.Errorf("shown was %+v", got)
	}
}
