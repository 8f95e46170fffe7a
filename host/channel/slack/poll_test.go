package slack_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// question is a question with choices.
func (w *world) question(several bool, choices ...string) channel.Message {
	m := w.text("*Which* <!channel> day?")
	m.Poll = &channel.Poll{Choices: choices, Several: several}
	return m
}

// presses has a member press a button, and returns what comes in.
func (w *world) presses(t testing.TB, in *inbox, user, ts, label string) channel.Inbound {
	t.Helper()
	if !w.Press(id(w.desk), user, ts, label) {
		t.Fatalf("the question has no button %q", label)
	}
	return last(in.next(t))
}

// shownAs waits until a message reads so.
func (w *world) shownAs(t testing.TB, ts, want string) {
	t.Helper()
	w.Wait(t, "the text "+want, func() bool { return w.message(t, ts).Shown() == want })
}

func TestAQuestionIsAnsweredWithButtons(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	bo := w.AddUser("Bo")
	thread := w.Post(id(w.desk), w.ada, "when?")
	in.next(t)
	for _, several := range []bool{false, true} {
		m := w.question(several, "Monday", "<!here> *Tuesday* :tada:")
		m.Thread = thread
		c := w.sent(t, m)
		if got := w.message(t, c.Target); !slices.Equal(got.Buttons(), m.Poll.Choices) || got.Text != "*Which* &lt;!channel&gt; day?" || got.Shown() != m.Text || got.Thread != thread {
			t.Fatalf("shown is %+v", got)
		}
		monday, both := m.Poll.Choices[:1], m.Poll.Choices
		afterTuesday := m.Poll.Choices[1:]
		if several {
			afterTuesday = both
		}
		for _, tt := range []struct {
			by, label string
			want      []string
		}{
			{w.ada, monday[0], monday}, {bo, both[1], both[1:]}, {w.ada, both[1], afterTuesday}, {bo, both[1], nil}, {bo, monday[0], monday},
		} {
			got := w.presses(t, in, tt.by, c.Target, tt.label)
			want := channel.Inbound{Kind: channel.KindVote, ID: got.ID, Chat: w.desk, Thread: thread, Sender: tt.by, From: map[string]string{w.ada: "Ada", bo: "Bo"}[tt.by],
				Role: channel.RoleMember, Time: got.Time, Target: c.Target, Choices: tt.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
		w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
		tally := "\nMonday: 1 (Bo)\n<!here> *Tuesday* :tada:: 1 (Ada)"
		if several {
			tally = "\nMonday: 2 (Ada, Bo)\n<!here> *Tuesday* :tada:: 1 (Ada)"
		}
		w.shownAs(t, c.Target, m.Text+tally)
		c.Text = "Closed: <Monday>"
		for range 2 {
			if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		got := w.message(t, c.Target)
		if got.Shown() != m.Text+tally+"\n"+c.Text || len(got.Buttons()) != 0 {
			t.Errorf("in the end shown is %q", got.Shown())
		}
		for _, b := range got.Blocks {
			if b.Text.Type != "plain_text" {
				t.Errorf("foreign words are markup: %+v", b.Text)
			}
		}
		is(t, "edited", w.ch.(channel.Editor).Edit(t.Context(), c), channel.Permanent, "not_supported")
	}
}

// A vote survives the host, comes in once however often Slack sends it, and the next
// press knows it.
func TestAVoteSurvivesARestart(t *testing.T) {
	w := newWorld(t)
	in, stop := w.run(t)
	c := w.sent(t, w.question(true, "Monday", "Tuesday"))
	w.presses(t, in, w.ada, c.Target, "Monday")
	stop()
	w.Press(id(w.desk), w.ada, c.Target, "Tuesday") // the host is down
	in, _ = w.made(t).run(t)
	w.Redeliver()
	if got := in.next(t); !slices.Equal(got[0].Choices, []string{"Monday", "Tuesday"}) {
		t.Errorf("came in: %+v", got)
	}
	w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
	w.Post(id(w.desk), w.ada, "end")
	if got := in.next(t); len(got) != 2 || got[1].Text != "end" {
		t.Errorf("came in: %+v", got)
	}
}

// The answer to the question's post is lost: it is found, once, and still takes votes
// and its end.
func TestAQuestionWhoseAnswerIsLostIsFound(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	m := w.question(false, "Monday", "Tuesday")
	w.Next("chat.postMessage", slacktest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), m)
	is(t, "lost", err, channel.Ambiguous, "no_answer")
	ts := w.FromBot(id(w.desk))[0].TS
	w.presses(t, in, w.ada, ts, "Monday")
	w.shownAs(t, ts, m.Text+"\nMonday: 1 (Ada)\nTuesday: 0")
	r, err := w.find(t, m, &kept{})
	if err != nil || r == nil || r.ID != ts {
		t.Fatalf("Find says %+v, %v", r, err)
	}
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), channel.Change{Chat: w.desk, Target: r.ID, Text: "Closed."}); err != nil {
		t.Fatal(err)
	}
	w.shownAs(t, ts, m.Text+"\nMonday: 1 (Ada)\nTuesday: 0\nClosed.")
}

// Whoever presses while the question is closed comes too late, also if the press
// lies in the journal; the buttons do not come back.
func TestAClosedQuestionTakesNoVote(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	c := w.sent(t, w.question(false, "Monday", "Tuesday"))
	w.Next("chat.update", slacktest.Fault{Before: func() { w.Press(id(w.desk), w.ada, c.Target, "Monday") }})
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
	w.Post(id(w.desk), w.ada, "end")
	if got := in.next(t); len(got) != 1 || got[0].Text != "end" {
		t.Errorf("came in: %+v", got)
	}
	if got := w.message(t, c.Target); len(got.Buttons()) != 0 {
		t.Errorf("shown is %+v", got)
	}
}

// A lost journal leaves the question's own words.
func TestAQuestionThatTheHostForgotIsClosed(t *testing.T) {
	w := newWorld(t)
	_, stop := w.run(t)
	m := w.question(false, "Monday", "Tuesday")
	c := w.sent(t, m)
	stop()
	w.setup.Dir, w.setup.State = t.TempDir(), statetest.Open(t, t.TempDir())
	in, _ := w.made(t).run(t)
	w.Press(id(w.desk), w.ada, c.Target, "Monday")
	c.Text = "Closed."
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.shownAs(t, c.Target, m.Text+"\nClosed.")
	w.Post(id(w.desk), w.ada, "end")
	if got := in.Wait(t, 1); len(got) != 1 || got[0].Text != "end" {
		t.Errorf("came in: %+v", got)
	}
	c.Target = "1600000000.000001"
	is(t, "gone", w.ch.(channel.PollEnder).EndPoll(t.Context(), c), channel.Permanent, "unknown_message")
}

// No press that is not one of our buttons counts, and all are acknowledged.
func TestWhatIsNoPressOfOursIsNotHeard(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	m := w.question(false, "Monday", "Tuesday")
	c := w.sent(t, m)
	press := func(change func(container, action map[string]any, all map[string]any)) {
		container := map[string]any{"type": "message", "message_ts": c.Target, "channel_id": id(w.desk)}
		action := map[string]any{"type": "button", "action_id": "longshore-" + m.ID + "-0", "action_ts": "1700000000.000001"}
		all := map[string]any{"type": "block_actions", "user": map[string]any{"id": w.ada}, "container": container, "actions": []any{action}}
		change(container, action, all)
		w.Interact(all)
	}
	for _, name := range []string{"a", "longshore-" + m.ID + "-2", "longshore-" + m.ID + "-00", "longshore-" + m.ID, "longshore-" + strings.Repeat("0", 31) + "f-0", "longshore-" + m.ID + "--1"} {
		press(func(_, action, _ map[string]any) { action["action_id"] = name })
	}
	press(func(container, _, _ map[string]any) { container["channel_id"] = id(w.office) }) // another group's chat
	press(func(container, _, _ map[string]any) { container["channel_id"] = "C0NOBODY" })
	press(func(container, _, _ map[string]any) { container["message_ts"] = "\x1b[2J" })
	press(func(container, _, _ map[string]any) { container["type"] = "view" })
	press(func(_, action, _ map[string]any) { action["type"] = "overflow" })
	press(func(_, _, all map[string]any) { all["user"] = map[string]any{"id": "../../x"} })
	press(func(_, _, all map[string]any) { delete(all, "user") })
	press(func(_, _, all map[string]any) { all["actions"] = []any{} })
	press(func(_, _, all map[string]any) { all["type"] = "view_submission" })
	press(func(_, _, all map[string]any) { all["user"] = map[string]any{"id": w.AddBot("another")} })
	w.Tell(id(w.desk), map[string]any{"type": "longshore_press", "channel": id(w.desk), "user": w.ada, "poll": m.ID, "choice": 0, "target": c.Target, "event_ts": "1700000000.000001"})
	w.Post(id(w.desk), w.ada, "end")
	if got := in.next(t); len(got) != 1 || got[0].Text != "end" {
		t.Errorf("came in: %+v", got)
	}
	w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
}

// A crowd votes at once: every vote comes in, and few updates show them.
func TestACrowdVotes(t *testing.T) {
	w := newWorld(t)
	slack.Hurry(w.ch, time.Second) // as it is by default: many votes are shown together
	in, _ := w.run(t)
	var choices, crowd []string
	for i := range 16 {
		choices = append(choices, fmt.Sprint(i, strings.Repeat("ü", 98)))
	}
	m := w.question(true, choices...)
	m.Text = strings.Repeat("&", 3000)
	c := w.sent(t, m)
	if got := w.message(t, c.Target); !strings.Contains(got.Shown(), choices[15]+": 0") {
		t.Errorf("what is too long for a button is nowhere: %+v", got)
	}
	for i := range 40 {
		crowd = append(crowd, w.AddUser(fmt.Sprint(strings.Repeat("ö", 80), i)))
	}
	var all sync.WaitGroup
	for _, user := range crowd {
		all.Go(func() {
			for _, choice := range w.message(t, c.Target).Buttons()[:5] {
				w.Press(id(w.desk), user, c.Target, choice)
			}
		})
	}
	all.Wait()
	in.Wait(t, 5*len(crowd))
	w.Wait(t, "the tally", func() bool { return strings.Count(w.message(t, c.Target).Shown(), ": 40 (") == 5 })
	if n := w.Calls("chat.update"); n > 60 {
		t.Errorf("%d updates for %d votes", n, 5*len(crowd))
	}
}
