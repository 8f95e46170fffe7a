package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/setting"
)

func TestWhatAMemberWritesIsReadAsMembersSeeIt(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	bo := w.AddUser("Bo\u202e \x1b[31m")
	for text, want := range map[string]string{
		slacktest.Mention(bo) + ", look":                                "@Bo [31m, look",
		slacktest.Mention("U0NOBODY"):                                   "@U0NOBODY",
		"<@" + bo + "|robert>":                                          "@robert",
		"<!here> and <!channel> and <!subteam^S012|@team>":              "@here and @channel and @team",
		"<#C0ELSE|general> or <#" + id(w.desk) + ">":                    "#general or #Desk",
		"<https://example.org/a?b=1&amp;c=2>":                           "https://example.org/a?b=1&c=2",
		"<https://example.org|example.org> <https://evil.org|bank.org>": "https://example.org bank.org (https://evil.org)",
		"<mailto:ada@example.org|ada@example.org>":                      "ada@example.org",
		"<!date^1392734382^{date}|Feb 18>":                              "Feb 18",
		"1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;":                         "1 < 2 && 3 > 2 &lt;",
		"an open < end":                                                 "an open < end",
		"<>":                                                            "",
	} {
		w.Post(id(w.desk), w.ada, text)
		got := last(in.next(t))
		if got.Text != want {
			t.Errorf("%q came in as %q, want %q", text, got.Text, want)
		}
	}
}

// A text that was cut within a character came not in at all, and neither did one with
// such a preview.
func TestATextWithHalfACharacterComesIn(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	const cut = "\ufffd"
	w.Tell(id(w.desk), map[string]any{"type": "message", "channel": id(w.desk), "user": w.ada, "ts": "1700000000.000001",
		"text": "hi " + cut, "attachments": json.RawMessage(`[{"text": "\ud83d"}]`)})
	if got := last(in.next(t)); got.Text != "hi "+cut {
		t.Errorf("came in: %+v", got)
	}
}

// A forward of 40,000 letters that JSON escapes, and a message with a field of an unknown form,
// were acknowledged and lost. One of more than a megabyte ended the connection, over and over.
func TestAMessageThatIsTooLargeOrStrangeIsToldInWords(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	for i, with := range []map[string]any{
		{"text": "look", "attachments": json.RawMessage(`[{"is_share":true,"text":"` + strings.Repeat(`\u4e2d`, 40_000) + `","fallback":"` + strings.Repeat(`\u4e2d`, 60_000) + `"}]`)},
		{"text": strings.Repeat("a", 3<<20)},
		{"text": "look", "room": "huddle"},
	} {
		event := map[string]any{"type": "message", "channel": id(w.desk), "user": w.ada, "ts": fmt.Sprintf("1700000000.00000%d", i+1)}
		maps.Copy(event, with)
		w.Tell(id(w.desk), event)
		got := last(in.next(t))
		if ok := i == 0 && got.Forwarded && utf8.RuneCountInString(got.Text) > 40_000 || i > 0 && got.Told == []string{"", "too_large", "unreadable"}[i] && got.From != ""; !ok {
			t.Errorf("%d came in as %+v, %.60s", i, got.Told, got.Text)
		}
	}
}

func last(all []channel.Inbound) channel.Inbound { return all[len(all)-1] }

// next waits for one message more than the last call did.
func (in *inbox) next(t testing.TB) []channel.Inbound {
	t.Helper()
	in.awaited++
	return in.Wait(t, in.awaited)
}

// Who speaks to the assistant, and into which thread its answer goes.
func TestAMessageKnowsWhomItSpeaksToAndItsThread(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	me := slacktest.Mention(w.BotUser)
	parent := w.Post(id(w.desk), w.ada, "a question to all")
	in.next(t)
	spoken := w.text("we spoke here")
	spoken.Thread = w.Post(id(w.desk), w.ada, "another")
	in.next(t)
	if _, err := w.ch.Send(t.Context(), spoken); err != nil {
		t.Fatal(err)
	}
	const own = "its own"
	for _, tt := range []struct {
		chat         groups.JID
		thread, text string
		direct       bool
		want         string // thread
	}{
		{w.desk, "", "to nobody", false, ""},
		{w.desk, "", me + " look", true, own},
		{w.private, "", me + " look", true, own},
		{w.desk, parent, "in a thread", false, parent},
		{w.desk, parent, me + " in a thread", true, parent},
		{w.desk, spoken.Thread, "where we spoke", true, spoken.Thread},
		{w.inDM, "", "hello", true, ""},
	} {
		ts := w.PostInThread(id(tt.chat), tt.thread, w.ada, tt.text)
		got := last(in.next(t))
		want := channel.Inbound{ID: ts, Chat: tt.chat, Thread: tt.want, From: "Ada", Sender: w.ada, Time: got.Time, Direct: tt.direct,
			Text: strings.ReplaceAll(tt.text, me, "@longshore")}
		want.Role = channel.RoleMember
		if tt.chat == w.inDM {
			want.Role = channel.RoleAdmin
		}
		if tt.want == own {
			want.Thread = ts
		}
		if tt.thread == parent { // whose words the assistant has not seen
			want.Quote = &channel.Quote{ID: parent, From: "Ada", Sender: w.ada, Text: "a question to all"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %q (-want +got):\n%s", tt.chat, tt.text, diff)
		}
	}
}

// After a restart the threads where the assistant spoke are still its own.
func TestAThreadIsKnownAfterARestart(t *testing.T) {
	w := newWorld(t)
	in, stop := w.run(t)
	m := w.text("we spoke here")
	m.Thread = w.Post(id(w.desk), w.ada, "a question")
	in.next(t)
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	stop()
	in, _ = w.made(t).run(t)
	w.PostInThread(id(w.desk), m.Thread, w.ada, "and now?")
	if got := in.Wait(t, 1)[0]; !got.Direct {
		t.Errorf("came in: %+v", got)
	}
}

// Every message without a thread counted as one to the assistant if Slack did not say
// who that is.
func TestAHostWithoutANameHearsNothing(t *testing.T) {
	w := newWorld(t)
	w.BotUser = ""
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.ch.Run(ctx, nil) }()
	w.Wait(t, "two attempts", func() bool { return w.Calls("auth.test") > 1 })
	cancel()
	if err := <-ended; err != nil || w.Calls("apps.connections.open") > 0 {
		t.Errorf("it connects: %v", err)
	}
}

// A bot, the channel itself, a chat of nobody, a preview: none of them comes in, and
// all are acknowledged.
func TestWhatIsNoMembersIsNotHeard(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	if _, err := w.ch.Send(t.Context(), w.text("our own")); err != nil {
		t.Fatal(err)
	}
	elsewhere := w.AddChannel(slacktest.Public, "elsewhere")
	w.Post(elsewhere, w.ada, "in nobody's chat")
	for _, event := range []map[string]any{
		{"type": "message", "subtype": "bot_message", "bot_id": "B0OTHER", "text": "a bot", "ts": "1700000000.000001"},
		{"type": "message", "user": w.AddBot("another app"), "bot_id": "B0OTHER", "text": "a bot", "ts": "1700000000.000002"},
		{"type": "message", "subtype": "channel_join", "user": w.ada, "text": "joined", "ts": "1700000000.000003"},
		{"type": "message", "subtype": "message_changed", "ts": "1700000000.000004",
			"message": map[string]any{"user": w.ada, "text": "same", "ts": "1700000000.000001"}, "previous_message": map[string]any{"user": w.ada, "text": "same", "ts": "1700000000.000001"}},
		{"type": "message", "subtype": "file_share", "user": w.AddBot("another assistant"), "text": slacktest.Mention(w.BotUser) + " here is a file", "ts": "1700000000.000005"},
		{"type": "channel_rename", "channel": map[string]any{"id": id(w.desk), "name": "new"}},
		{"type": "reaction_added", "user": w.BotUser, "reaction": "eyes", "item": map[string]any{"type": "message", "channel": id(w.desk), "ts": "1700000000.000001"}},
		{"type": "a type of tomorrow"},
	} {
		if event["type"] == "message" {
			event["channel"] = id(w.desk)
		}
		w.Tell(id(w.desk), event)
	}
	w.Post(id(w.desk), w.ada, "a member")
	if got := in.Wait(t, 1); len(got) != 1 || got[0].Text != "a member" {
		t.Errorf("came in: %+v", got)
	}
	w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
}

// A mention comes as two events, and after a lost acknowledgement each once more.
func TestARepeatedEventComesInOnce(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	for range 3 {
		w.Post(id(w.desk), w.ada, slacktest.Mention(w.BotUser)+" look")
		w.Redeliver()
	}
	w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
	w.Post(id(w.desk), w.ada, "end")
	if got := in.Wait(t, 4); len(got) != 4 || got[3].Text != "end" {
		t.Errorf("came in: %+v", got)
	}
}

// Connections are lost under load, with and without a word before.
func TestReconnectsLoseNothing(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	var posting sync.WaitGroup
	defer posting.Wait()
	const each = 20
	reasons := []string{"refresh_requested", "", "warning"}
	rounds := len(reasons)
	for _, reason := range reasons {
		posting.Go(func() {
			for range each {
				w.Post(id(w.desk), w.ada, "under load")
			}
		})
		w.Wait(t, "a connection", func() bool { return w.Connections() == 1 })
		before := w.Calls("apps.connections.open")
		w.Disconnect(reason)
		w.Wait(t, "another connection", func() bool { return w.Calls("apps.connections.open") > before })
	}
	posting.Wait()
	got := in.Wait(t, each*rounds)
	seen := map[string]bool{}
	for _, m := range got {
		if seen[m.ID] {
			t.Errorf("%s came in twice", m.ID)
		}
		seen[m.ID] = true
	}
	if len(got) != each*rounds {
		t.Errorf("%d came in, want %d", len(got), each*rounds)
	}
}

func TestATokenThatIsRevokedHoldsTheChannel(t *testing.T) {
	for method, tt := range map[string]struct{ word, code, says string }{
		"auth.test":                   {"token_revoked", "slack_token_revoked", "install the app again"},
		"apps.connections.open":       {"invalid_auth", "slack_token_refused", "xapp-"},
		"apps.connections.open again": {"link_disabled", "slack_socket_off", "Socket Mode"},
	} {
		w := newWorld(t)
		method, _, _ := strings.Cut(method, " ")
		w.Always(method, slacktest.Fault{Error: tt.word})
		w.run(t)
		w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, tt.says) })
		_, err := w.ch.Send(t.Context(), w.text("hello"))
		is(t, method, err, channel.Held, tt.code)
	}
	w := newWorld(t)
	w.settings().BotToken = setting.Secret{}
	w.made(t).run(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "no tokens") })
	_, err := w.ch.Send(t.Context(), w.text("hello"))
	is(t, "without a token", err, channel.Held, "slack_not_paired")
	w = newWorld(t)
	w.SetScopes(slacktest.Without("files:write")...)
	w.run(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "files:write") })
}

func TestAMembersFileIsFetchedFromSlackAlone(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	w.Upload(id(w.desk), "", w.ada, "", "page.html", []byte("<!DOCTYPE html><p>hers</p>"))
	w.Upload(id(w.desk), "", w.ada, "", "photo.bin", bytes.Repeat([]byte{0x9c}, 5000))
	got := in.Wait(t, 2)
	fetch := func(m channel.Inbound) ([]byte, error) {
		r, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	for i, size := range []int{26, 5000} {
		if body, err := fetch(got[i]); err != nil || len(body) != size {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	}
	for i, f := range []map[string]any{
		{"url_private": "https://evil.example/a"},
		{"url_private": "http://169.254.169.254/latest/meta-data/"},
		{"url_private": "https://files.slack.com.evil.example/a"},
		{"url_private": "https://docs.example.org/a", "mode": "external", "is_external": true},
		{"mode": "tombstone"}, {"mode": "hidden_by_limit"}, {},
	} {
		f["id"], f["name"], f["size"] = "F0FOREIGN", "../../etc/passwd", -5
		w.Tell(id(w.desk), map[string]any{"type": "message", "subtype": "file_share", "channel": id(w.desk), "user": w.ada, "text": "", "ts": "1700000000.00000" + string(rune('0'+i)), "files": []any{f}})
		m := last(in.Wait(t, 3+i))
		if name := m.Files[0].Name; strings.Contains(name, "/") || m.Files[0].Size < 0 {
			t.Errorf("the file is called %q and has %d bytes", name, m.Files[0].Size)
		}
		if body, err := fetch(m); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%v: %d bytes, %v", f, len(body), err)
		}
	}
}

// Without files:read Slack shows its sign-in page instead of the file.
func TestTheSignInPageIsNoFile(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	w.Upload(id(w.desk), "", w.ada, "", "photo.bin", bytes.Repeat([]byte{0x9c}, 5000))
	m := in.Wait(t, 1)[0]
	w.BotToken = "xoxb-another"
	_, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref})
	if e := is(t, "the page", err, channel.Permanent, "not_fetchable"); !strings.Contains(e.Message, "files:read") {
		t.Errorf("%+v", e)
	}
}

func TestTheAssistantShowsThatItWorks(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	typing := w.ch.(channel.Typing)
	ts := w.Post(id(w.desk), w.ada, slacktest.Mention(w.BotUser)+" look")
	thread := in.Wait(t, 1)[0].Thread
	for range 3 {
		typing.Typing(t.Context(), w.desk, thread, true)
	}
	typing.Typing(t.Context(), w.desk, thread, false)
	if got := w.Statuses(id(w.desk)); len(got) != 2 || got[0].Thread != ts || got[0].Text == "" || got[1].Text != "" {
		t.Errorf("the statuses were %+v", got)
	}
	w.Always("assistant.threads.setStatus", slacktest.Fault{Error: "not_allowed_token_type"})
	reacts := func(ts string, want int) {
		t.Helper()
		for _, m := range w.Messages(id(w.desk)) {
			if m.TS == ts && len(m.Reactions["eyes"]) != want {
				t.Errorf("the reactions are %v", m.Reactions)
			}
		}
	}
	for range 3 {
		typing.Typing(t.Context(), w.desk, thread, true)
	}
	reacts(ts, 1)
	typing.Typing(t.Context(), w.desk, thread, false)
	reacts(ts, 0)
	plain := w.Post(id(w.desk), w.ada, "to nobody")
	in.Wait(t, 2)
	typing.Typing(t.Context(), w.desk, "", true)
	reacts(plain, 1)
	typing.Typing(t.Context(), "slack:C0NOBODY", "", true)
}

// Nothing foreign acts on a log.
func TestForeignWordsReachNoLog(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	var mu sync.Mutex
	w.setup.Log = slog.New(slog.NewTextHandler(locked{&mu, &log}, nil))
	in, stop := w.made(t).run(t)
	evil := "\x1b[2J\u202e"
	w.Tell(id(w.desk), map[string]any{"type": "message", "channel": id(w.desk) + evil, "user": w.ada, "text": evil, "ts": evil})
	w.Tell(id(w.desk), map[string]any{"type": "message", "channel": id(w.desk), "user": evil, "text": evil, "ts": "1700000000.000001"})
	w.Next("users.info", slacktest.Fault{Error: "evil \u202e"})
	w.Post(id(w.desk), w.ada, "a member")
	in.Wait(t, 1)
	stop()
	mu.Lock()
	defer mu.Unlock()
	if s := log.String(); strings.ContainsAny(s, "\x1b\u202e") || !strings.Contains(s, "does not know") {
		t.Errorf("the log has %q", s)
	}
}

type locked struct {
	mu *sync.Mutex
	io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Writer.Write(p)
}
