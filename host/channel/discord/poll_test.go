package discord_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// question is a question with choices.
func (w *world) question(several bool, choices ...string) channel.Message {
	m := w.text("*Which* <@1> day?")
	m.Poll = &channel.Poll{Choices: choices, Several: several}
	return m
}

// sent sends m, and is the change of it that a test makes.
func (w *world) sent(t testing.TB, m channel.Message) channel.Change {
	t.Helper()
	r, err := w.ch.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return channel.Change{Chat: m.Chat, Thread: m.Thread, Target: r.ID}
}

// press has a member press a button.
func (w *world) press(t testing.TB, channelID, user, message, label string) *discordtest.Acted {
	t.Helper()
	a := w.Press(channelID, user, message, label)
	if a == nil {
		t.Fatalf("the question has no button %q", label)
	}
	return a
}

// message is the bot's message of that id.
func (w *world) message(t testing.TB, id string) discordtest.Message {
	t.Helper()
	for _, m := range w.FromBot(strings.TrimPrefix(string(w.desk), "dc:")) {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("there is no message %s", id)
	return discordtest.Message{}
}

// visible is a text as members see it: a backslash before a sign is not shown.
func visible(s string) string { return strings.NewReplacer(`\\`, `\`, `\`, "").Replace(s) }

func (w *world) shownAs(t testing.TB, id, want string) {
	t.Helper()
	w.Wait(t, "the text "+want, func() bool { return visible(w.message(t, id).Text) == want })
}

func TestAQuestionIsAnsweredWithButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	bo := w.AddUser("Bo")
	thread := w.AddThread(id(w.desk), "when?")
	came := 0
	for _, several := range []bool{false, true} {
		m := w.question(several, "Monday", "@here **Tuesday**")
		m.Thread = thread
		c := w.sent(t, m)
		if got := w.message(t, c.Target); !slices.Equal(got.Labels(), m.Poll.Choices) || visible(got.Text) != m.Text || !strings.Contains(got.Text, `\<\@1\>`) || got.Channel != thread {
			t.Fatalf("shown is %+v", got)
		}
		both := m.Poll.Choices
		after := both[1:]
		if several {
			after = both
		}
		for _, tt := range []struct {
			by, label string
			want      []string
		}{
			{w.ada, both[0], both[:1]}, {bo, both[1], both[1:]}, {w.ada, both[1], after}, {bo, both[1], nil}, {bo, both[0], both[:1]},
		} {
			a := w.press(t, thread, tt.by, c.Target, tt.label)
			came++
			got := in.Wait(t, came)[came-1]
			want := channel.Inbound{Kind: channel.KindVote, ID: got.ID, Chat: w.desk, Thread: thread, Sender: tt.by, From: map[string]string{w.ada: "Ada", bo: "Bo"}[tt.by],
				Role: channel.RoleMember, Time: got.Time, Target: c.Target, Choices: tt.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			w.Wait(t, "the answer to the press", func() bool { return w.Answered(a).Answer == 6 })
		}
		tally := "\nMonday: 1 (Bo)\n@here **Tuesday**: 1 (Ada)"
		if several {
			tally = "\nMonday: 2 (Ada, Bo)\n@here **Tuesday**: 1 (Ada)"
		}
		w.shownAs(t, c.Target, m.Text+tally)
		c.Text = "Closed: <Monday>"
		for range 2 {
			if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.message(t, c.Target); visible(got.Text) != m.Text+tally+"\n"+c.Text || len(got.Labels()) != 0 {
			t.Errorf("in the end shown is %q with %q", got.Text, got.Labels())
		}
		is(t, "edited", w.ch.(channel.Editor).Edit(t.Context(), c), channel.Permanent, "not_supported")
	}
}

// A vote of before a restart counts, and a press whose event comes again counts once.
func TestAVoteSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, stop := w.run(t)
	c := w.sent(t, w.question(true, "Monday", "Tuesday"))
	w.press(t, id(w.desk), w.ada, c.Target, "Monday")
	in.Wait(t, 1)
	w.Drop()
	w.press(t, id(w.desk), w.ada, c.Target, "Tuesday") // while nobody hears; the session brings it
	if got := in.Wait(t, 2); !slices.Equal(got[1].Choices, []string{"Monday", "Tuesday"}) {
		t.Errorf("came in: %+v", got[1])
	}
	stop()
	in, _ = w.made(t).run(t)
	w.press(t, id(w.desk), w.ada, c.Target, "Monday")
	if got := in.Wait(t, 1); !slices.Equal(got[0].Choices, []string{"Tuesday"}) {
		t.Errorf("after the restart came in: %+v", got[0])
	}
	w.shownAs(t, c.Target, "*Which* <@1> day?\nMonday: 0\nTuesday: 1 (Ada)")
}

// The answer to the question's post is lost, and votes change its text: it is found.
func TestAQuestionWhoseAnswerIsLostIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	other := w.sent(t, w.question(false, "Monday", "Tuesday"))
	m := w.question(false, "Monday", "Tuesday")
	w.Next("create", discordtest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), m)
	is(t, "lost", err, channel.Ambiguous, "no_answer")
	posted := w.FromBot(id(w.desk))[1].ID
	w.press(t, id(w.desk), w.ada, posted, "Monday")
	in.Wait(t, 1)
	w.shownAs(t, posted, m.Text+"\nMonday: 1 (Ada)\nTuesday: 0")
	m.Since = in.Wait(t, 1)[0].Time.Add(-1e9)
	r, err := w.ch.(channel.Finder).Find(t.Context(), m)
	if err != nil || r == nil || r.ID != posted || r.ID == other.Target {
		t.Fatalf("Find says %+v, %v", r, err)
	}
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), channel.Change{Chat: w.desk, Target: r.ID, Text: "Closed."}); err != nil {
		t.Fatal(err)
	}
	w.shownAs(t, posted, m.Text+"\nMonday: 1 (Ada)\nTuesday: 0\nClosed.")
}

// A journal that was lost leaves the question's own words, and old buttons count nothing.
func TestAQuestionThatTheHostForgotIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(t)
	m := w.question(false, "Monday", "Tuesday")
	c := w.sent(t, m)
	stop()
	w.setup.Dir, w.setup.State = t.TempDir(), statetest.Open(t, t.TempDir())
	in, _ := w.made(t).run(t)
	a := w.press(t, id(w.desk), w.ada, c.Target, "Monday")
	w.Wait(t, "the answer to the press", func() bool { return w.Answered(a).Answer == 6 })
	c.Text = "Closed."
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.shownAs(t, c.Target, m.Text+"\nClosed.")
	w.Post(id(w.desk), w.ada, "end", discordtest.Says{})
	if got := in.Wait(t, 1); len(got) != 1 || got[0].Text != "end" {
		t.Errorf("came in: %+v", got)
	}
}

// Sixteen long choices of signs that Discord would act on fit a message.
func TestTheLongestQuestionFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	var choices []string
	for i := range 16 {
		choices = append(choices, string(rune('a'+i))+strings.Repeat("*", 98))
	}
	m := w.question(false, choices...)
	m.Text = strings.Repeat("<", 900)
	c := w.sent(t, m)
	w.press(t, id(w.desk), w.ada, c.Target, w.message(t, c.Target).Labels()[3])
	if got := in.Wait(t, 1); !slices.Equal(got[0].Choices, choices[3:4]) {
		t.Errorf("came in: %+v", got)
	}
	c.Text = strings.Repeat("🎉", 500)
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestTheHostsWordsAreCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var log bytes.Buffer
	w.setup.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	in, stop := w.made(t).run(t)
	w.Wait(t, "four commands", func() bool { return len(w.Commands()) == 4 })
	elsewhere := w.AddChannel("elsewhere")
	for i, name := range []string{"stop", "new", "status", "help"} {
		a := w.Command(id(w.desk), w.ada, name)
		got := in.Wait(t, i+1)[i]
		if got.Command != name || got.Chat != w.desk || got.Sender != w.ada || got.Role != channel.RoleMember || got.Kind != channel.KindMessage {
			t.Errorf("/%s came in as %+v", name, got)
		}
		w.Wait(t, "an answer", func() bool { return w.Answered(a).Answer == 4 })
		if text := w.Answered(a).Text; text != "Taken: /"+name {
			t.Errorf("the member reads %q", text)
		}
	}
	no := w.Command(elsewhere, w.ada, "stop")
	w.Wait(t, "an answer", func() bool { return w.Answered(no).Text == "No assistant is in this chat." })
	w.Next("callback", discordtest.Fault{Status: 500})
	w.Command(id(w.direct), w.ada, "status")
	if got := in.Wait(t, 5); got[4].Chat != w.direct || got[4].Role != channel.RoleAdmin {
		t.Errorf("came in: %+v", got[4])
	}
	n := w.Calls("register")
	stop()
	w.made(t).run(t)
	w.Wait(t, "a look at the commands", func() bool { return w.Calls("commands") > 1 })
	if w.Calls("register") != n {
		t.Error("the commands were registered again")
	}
	if strings.Contains(log.String(), "aW50ZXJhY3Rpb24") {
		t.Errorf("the log has the token of an interaction:\n%s", log.String())
	}
}

// Ten times the gateway goes away, in each way that it has, while members write and the
// bot sends: nothing is lost and nothing comes twice.
func TestTenReconnectsUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	var writing sync.WaitGroup
	var written atomic.Int64
	write := func() {
		w.Post(id(w.desk), w.ada, "a word", discordtest.Says{})
		written.Add(1)
	}
	for round := range 10 {
		for range 60 {
			write()
			in.Wait(t, int(written.Load()))
		}
		writing.Go(func() {
			for range 20 {
				write()
			}
		})
		sent := make(chan error, 1)
		go func() {
			_, err := w.ch.Send(t.Context(), w.text("an answer"))
			sent <- err
		}()
		[]func(){w.Drop, w.Reconnect, w.Forget, w.Drop, func() { w.Invalidate(true); w.Drop() }}[round%5]()
		writing.Wait()
		if err := <-sent; err != nil && channel.ClassOf(err) != channel.Passing {
			t.Errorf("a Send in round %d: %v", round, err)
		}
		in.Wait(t, int(written.Load()))
	}
	seen := map[string]int{}
	n := int(written.Load())
	for _, m := range in.Wait(t, n) {
		seen[m.ID]++
	}
	if len(seen) != n {
		t.Errorf("%d messages came in, want %d", len(seen), n)
	}
	for m, n := range seen {
		if n > 1 {
			t.Errorf("the message %s came in %d times", m, n)
		}
	}
}
