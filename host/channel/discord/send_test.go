package discord_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/channel/ladder"
	"github.com/longshore-bridge/longshore/media"
)

func TestALostAnswerIsAmbiguousAndTheNonceShowsItOnce(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for _, m := range []channel.Message{w.text("once"), w.files("once", "content")} {
		w.Next("create", discordtest.Fault{Lost: true})
		_, err := w.ch.Send(t.Context(), m)
		is(t, "Send", err, channel.Ambiguous, "no_answer")
		if _, err := w.ch.Send(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	if got := w.FromBot(id(w.desk)); len(got) != 2 {
		t.Errorf("the chat shows %+v", got)
	}
}

func TestARequestThatWasNotReadIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	m := w.files("", strings.Repeat("content ", 200_000))
	w.Next("create", discordtest.Fault{Unread: true})
	if _, err := w.ch.Send(t.Context(), m); channel.ClassOf(err) != channel.Passing || err == nil {
		t.Errorf("Send: %v, want an error that passes", err)
	}
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestBeyondTheNonceTheChatIsAsked(t *testing.T) {
	w := newWorld(t)
	w.NonceFor = 0
	w.run(t)
	for _, m := range []channel.Message{w.text("the same"), w.text("the same"), w.files("the same", "one", "two")} {
		m.Since = time.Now()
		find := func() *channel.Receipt {
			t.Helper()
			r, err := w.ch.(channel.Finder).Find(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := find(); r != nil {
			t.Errorf("before it was sent, %+v was found", r)
		}
		w.Next("create", discordtest.Fault{Lost: true})
		_, err := w.ch.Send(t.Context(), m)
		is(t, "Send", err, channel.Ambiguous, "no_answer")
		first, again := find(), find()
		all := w.FromBot(id(w.desk))
		if first == nil || again == nil || first.ID != again.ID || first.ID != all[len(all)-1].ID {
			t.Errorf("found %+v and %+v of %+v", first, again, all)
		}
	}
}

func TestARefusalHasItsClassAndRemedy(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	for _, tt := range []struct {
		fault discordtest.Fault
		class channel.Class
		code  string
	}{
		{discordtest.Fault{Status: 404, Code: 10003}, channel.Permanent, "unknown_chat"},
		{discordtest.Fault{Status: 413, Code: 40005}, channel.Permanent, "file_too_large"},
		{discordtest.Fault{Status: 400, Code: 50035}, channel.Permanent, "message_refused"},
		{discordtest.Fault{Status: 403, Code: 50007}, channel.Permanent, "not_a_member"},
		{discordtest.Fault{Status: 500}, channel.Ambiguous, "no_answer"},
		{discordtest.Fault{Status: 503}, channel.Passing, "not_connected"},
		{discordtest.Fault{Status: 403, Code: 50013}, channel.Held, "discord_right_missing"},
		{discordtest.Fault{Status: 403, Code: 40001}, channel.Held, "discord_not_allowed"},
		{discordtest.Fault{Status: 403, Code: 12345}, channel.Held, "discord_forbidden"},
		{discordtest.Fault{Status: 401}, channel.Held, "discord_token_refused"},
	} {
		w.ch.(channel.Applier).Apply(w.setup) // a chat that was held is asked again
		w.Next("create", tt.fault)
		_, err := w.ch.Send(t.Context(), w.text("hello"))
		if e := is(t, "Send", err, tt.class, tt.code); e.Hint == "" && tt.class != channel.Ambiguous && tt.code != "message_refused" {
			t.Errorf("%s has no remedy", tt.code)
		}
	}
}

// Discord blocks the address of a bot that goes on asking for what it may not do.
func TestAChatWithoutRightsIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.settle(t)
	w.Always("create", discordtest.Fault{Status: 403, Code: 50001})
	for range 10 {
		_, err := w.ch.Send(t.Context(), w.text("hello"))
		is(t, "Send", err, channel.Held, "discord_no_access")
	}
	if n := w.Calls("create"); n != 1 {
		t.Errorf("Discord was asked %d times", n)
	}
	if detail := w.status(t, func(ok bool, detail string) bool { return ok }); !strings.Contains(detail, "View Channel") {
		t.Errorf("the status says %q", detail)
	}
	w.Always("create", discordtest.Fault{})
	m := w.text("elsewhere")
	m.Chat = w.office
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Errorf("to another chat: %v", err)
	}
}

func TestRateLimitsAreObeyedWithoutARequest(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	w.Next("create", discordtest.Fault{Status: 429, RetryAfter: 30.5})
	for range 3 {
		_, err := w.ch.Send(t.Context(), w.text("hello"))
		e := is(t, "Send", err, channel.Passing, "rate_limited")
		if e.RetryAfter <= 29*time.Second || e.RetryAfter > 31*time.Second {
			t.Errorf("retry after %v", e.RetryAfter)
		}
	}
	if n := w.Calls("create"); n != 1 {
		t.Errorf("Discord was asked %d times", n)
	}
	m := w.text("elsewhere") // has a limit of its own
	m.Chat = w.office
	w.Next("create", discordtest.Fault{Spent: 30})
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Error(err)
	}
	w.Next("create", discordtest.Fault{Status: 429, RetryAfter: 30, Global: true})
	m = w.text("to the direct message")
	m.Chat = w.direct
	for range 2 {
		_, err := w.ch.Send(t.Context(), m)
		is(t, "Send", err, channel.Passing, "rate_limited")
	}
	if n := w.Calls("create"); n != 3 {
		t.Errorf("Discord was asked %d times", n)
	}
}

func TestALimitThatIsSpentIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	w.Next("create", discordtest.Fault{Spent: 30})
	if _, err := w.ch.Send(t.Context(), w.text("the last one")); err != nil {
		t.Fatal(err)
	}
	_, err := w.ch.Send(t.Context(), w.text("one more"))
	is(t, "Send", err, channel.Passing, "rate_limited")
	if n := w.Calls("create"); n != 1 {
		t.Errorf("Discord was asked %d times", n)
	}
}

func TestAFileIsRefusedBeforeItsFirstByteIfTheServerTakesNone(t *testing.T) {
	w := newWorld(t, func(s *discord.Settings) { s.BoostLevel = 2 })
	w.run(t)
	m := w.files("", "small")
	m.Files[0].Size = 10*media.MiB + 1
	_, err := w.ch.Send(t.Context(), m)
	e := is(t, "Send", err, channel.Permanent, "file_too_large")
	if !strings.Contains(e.Message, "boost level") || w.Calls("create") != 0 {
		t.Errorf("%q; Discord was asked %d times", e.Message, w.Calls("create"))
	}
}

func TestAMessageOfAThreadThatIsGoneGoesToTheChat(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	other := w.AddThread(w.AddChannel("another"), "of another channel")
	for _, thread := range []string{"4711", "no id", other} {
		m := w.text("to " + thread)
		m.Thread = thread
		r, err := channeltest.Descend(t.Context(), w.ch, m)
		if err != nil || !strings.Contains(r.Note, "the thread is gone, so it goes to the chat itself") {
			t.Errorf("%s: %+v, %v", thread, r, err)
		}
	}
	if got := w.FromBot(id(w.desk)); len(got) != 3 {
		t.Errorf("the chat shows %+v", got)
	}
}

// Each number is known for what it refuses.
func TestEveryNumberThatRefusesAFormGoesOneRungDown(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	codes := map[channel.Form][]string{channel.FormKind: {"kind_refused"}, channel.FormThread: {"unknown_thread", "unknown_chat"}, channel.FormReply: {"unknown_message", "not_allowed"}}
	for _, row := range discord.Known {
		if row.Form == "" {
			continue
		}
		if !slices.Contains(codes[row.Form], row.Code) {
			t.Errorf("%s is %s", row.On, row.Code)
		}
		for number := range strings.SplitSeq(row.On, "|") {
			m := w.files("", "x")
			m.Files[0].Kind, m.ReplyTo, m.Thread = media.Voice, "4711", w.AddThread(id(w.desk), "of "+number)
			code, err := strconv.Atoi(number)
			if err != nil { // words
				code = 50035
			}
			w.Next("create", discordtest.Fault{Status: 400, Code: code, Errors: unknownReference})
			_, err = w.ch.Send(t.Context(), m)
			if e := is(t, "Send", err, channel.Permanent, row.Code); e.Form != row.Form {
				t.Errorf("%s: %+v", number, e)
			}
			if _, note, ok := ladder.Down(m, err, w.ch.Limits()); !ok {
				t.Errorf("%s: %q", number, note)
			}
		}
	}
}

// TestARefusedEmojiNamedNoOther: the assistant tried one after another.
func TestARefusedEmojiNamedNoOther(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	r, err := w.ch.Send(t.Context(), w.text("the plan"))
	if err != nil {
		t.Fatal(err)
	}
	w.Next("react", discordtest.Fault{Status: 400, Code: 10014})
	err = w.ch.(channel.Reactor).React(t.Context(), channel.Change{Chat: w.desk, Target: r.ID, Emoji: "🫪"})
	if e := is(t, "React", err, channel.Permanent, "unknown_emoji"); !strings.Contains(e.Hint, "🫩") {
		t.Errorf("%q", e.Hint)
	}
}
