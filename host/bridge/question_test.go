package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

var workChat = groups.Address{Channel: "memory", JID: "mem:work"}

// polling is a site whose channel has polls.
func polling(t *testing.T) *site {
	limits := media.DefaultLimits()
	limits.Poll = media.PollLimit{Choices: 4, Choice: 20, Question: 200}
	m := memory.New(memory.Options{Online: true, Limits: limits})
	s := newSite(t, func(o *outbox.Options) { o.Channels = []channel.Channel{memory.Acting{Channel: m}} })
	s.memory = m
	return s
}

// outcome is what the result of a question says.
type outcome struct {
	Words   string
	Open    bool
	Answers []struct {
		Name    string
		Voter   string `json:"sender_id"`
		Choices []string
	}
	Counts map[string]int
}

func (s *site) outcome(id string) (o outcome) {
	s.t.Helper()
	synctest.Wait()
	r, ok := s.spool.Result("work", id)
	if !ok {
		s.t.Fatalf("no result of %s", id)
	}
	check(s.t, json.Unmarshal(r.Data, &o))
	return o
}

// ballot is a vote in a poll, or a text.
type ballot struct {
	Poll, Text, ReplyTo, Thread, Voter, Name string
	Choices                                  []string
}

// counted is what became of a ballot.
type counted struct {
	Target  string
	Choices []string
	Waited  bool // for the tool that asked
}

// tries is vote whose error is returned.
func (s *site) tries(v ballot) (*counted, error) {
	in := channel.Inbound{Text: v.Text, Thread: v.Thread, From: v.Name, Time: time.Now()}
	if v.Poll != "" {
		in.Kind, in.Target, in.Choices = channel.KindVote, v.Poll, v.Choices
	} else if v.ReplyTo != "" {
		in.Quote = &channel.Quote{ID: v.ReplyTo}
	}
	target, choices, waited, err := s.Vote(context.Background(), workChat, in, v.Voter)
	if target == "" {
		return nil, err
	}
	return &counted{target, choices, waited}, err
}

func (s *site) vote(v ballot) *counted {
	s.t.Helper()
	c, err := s.tries(v)
	check(s.t, err)
	return c
}

var which = ipc.Request{Type: ipc.TypeAsk, Text: "Which **one**?", Choices: []string{"Monday", "Friday"}}

func TestAQuestionIsAPollAndSaysWhoChoseWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		defer s.run(&told{})()
		r := s.after("work", "q", which)
		if r.Status != ipc.Sent || r.Parts[0].Kind != "poll" {
			t.Fatalf("%+v", r)
		}
		seen := s.memory.Shown("mem:work")[0]
		if diff := cmp.Diff(&channel.Poll{Choices: which.Choices}, seen.Poll); diff != "" || seen.Text != "Which one?" {
			t.Errorf("the chat shows %+v: %s", seen, diff)
		}
		if o := s.outcome("q"); !o.Open || len(o.Answers) != 0 {
			t.Errorf("before any answer: %+v", o)
		}
		if c := s.vote(ballot{Poll: r.MessageID, Choices: []string{"Friday"}, Voter: "a", Name: "Anna"}); c == nil || c.Target != r.MessageID {
			t.Errorf("counted: %+v", c)
		}
		s.vote(ballot{Poll: r.MessageID, Choices: []string{"Monday"}, Voter: "b", Name: "Bo"})
		s.vote(ballot{Poll: r.MessageID, Choices: []string{"Monday"}, Voter: "a", Name: "Anna"}) // changes her mind
		s.vote(ballot{Poll: r.MessageID, Voter: "b", Name: "Bo"})                                // takes it back
		for name, v := range map[string]ballot{
			"a choice that is none": {Poll: r.MessageID, Choices: []string{"Sunday"}, Voter: "c"},
			"two of one":            {Poll: r.MessageID, Choices: which.Choices, Voter: "c"},
			"another message":       {Poll: "MEM9", Choices: []string{"Friday"}, Voter: "c"},
			"text in a poll":        {Text: "1", Voter: "c"},
		} {
			if c := s.vote(v); c != nil {
				t.Errorf("%s was counted: %+v", name, c)
			}
		}
		o := s.outcome("q")
		if len(o.Answers) != 1 || o.Answers[0].Name != "Anna" || o.Answers[0].Choices[0] != "Monday" || o.Counts["Monday"] != 1 || o.Counts["Friday"] != 0 {
			t.Errorf("%+v", o)
		}
		if !strings.HasPrefix(o.Words, "Anna chose Monday. Members may answer until") {
			t.Errorf("in words: %s", o.Words)
		}
	})
}

func TestAQuestionEndsByItsTimeAlsoAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		stop := s.run(&told{})
		r := s.after("work", "q", which)
		s.vote(ballot{Poll: r.MessageID, Choices: []string{"Friday"}, Voter: "a", Name: "Anna"})
		stop()
		defer s.run(&told{})()
		if o := s.outcome("q"); !o.Open || len(o.Answers) != 1 {
			t.Errorf("after the restart: %+v", o)
		}
		time.Sleep(11 * time.Minute)
		if o := s.outcome("q"); o.Open || len(o.Answers) != 1 || !strings.Contains(o.Words, "closed") {
			t.Errorf("after its time: %+v", o)
		}
		if seen := s.memory.Shown("mem:work"); len(seen) != 1 || seen[0].Closed != "Closed. Monday: 0, Friday: 1." {
			t.Errorf("the chat shows %+v", seen)
		}
		if c := s.vote(ballot{Poll: r.MessageID, Choices: []string{"Monday"}, Voter: "b"}); c != nil {
			t.Errorf("a late vote was counted: %+v", c)
		}
	})
}

// Where a channel has no polls, or none with so many choices, members answer in words.
func TestWithoutPollsMembersAnswerByNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer s.run(&told{})()
		several := which
		several.Several = true
		one, two := s.after("work", "one", which), s.after("work", "two", several)
		if text := s.memory.Shown("mem:work")[0].Text; !strings.Contains(text, "1. Monday\n2. Friday") || !strings.Contains(text, "Answer with the number.") {
			t.Errorf("the chat shows %q", text)
		}
		for text, want := range map[string]string{
			" 2. ": "Friday", "friday": "Friday", "1, 2": "Monday,Friday", "2,2": "Friday",
			"3": "", "0": "", "-1": "", "on Friday": "", "1 2": "", "": "", "2,": "", "99999999999999999999": "",
		} {
			c := s.vote(ballot{Text: text, Voter: "a", Name: "Anna"})
			switch {
			case want == "" && c != nil:
				t.Errorf("%q was counted: %+v", text, c)
			case want != "" && (c == nil || strings.Join(c.Choices, ",") != want || c.Target != two.MessageID):
				t.Errorf("%q: %+v, want %s of the latest question", text, c, want)
			}
		}
		if c := s.vote(ballot{Text: "1", ReplyTo: one.MessageID, Voter: "a", Name: "Anna"}); c == nil || c.Target != one.MessageID {
			t.Errorf("a reply to the first question: %+v", c)
		}
		if c := s.vote(ballot{Text: "1", ReplyTo: "MEM77", Voter: "a"}); c != nil {
			t.Errorf("a reply to something else: %+v", c)
		}
		if c := s.vote(ballot{Text: "1", Thread: "another", Voter: "a"}); c != nil {
			t.Errorf("in another thread: %+v", c)
		}
	})
}

func TestAGroupHasAtMostTenOpenQuestionsAndAFloodOfVotesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		defer s.run(&told{})()
		var last ipc.Result
		for i := range 10 {
			last = s.after("work", string(rune('a'+i)), which)
		}
		if r := s.after("work", "eleventh", which); r.Code != "too_many_questions" {
			t.Errorf("%+v", r)
		}
		for i := range 1010 {
			s.vote(ballot{Poll: last.MessageID, Choices: []string{"Friday"}, Voter: strings.Repeat("x", i), Name: "M"})
		}
		o := s.outcome("j")
		if len(o.Answers) != 100 || o.Counts["Friday"] != 1000 || !strings.Contains(o.Words, "1000 answered in all.") {
			t.Errorf("%d answers, %v", len(o.Answers), o.Counts)
		}
	})
}

// A member was quicker than the platform's answer to the host: the vote would have been lost.
func TestAVoteBeforeTheReceiptIsBroughtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		release := make(chan struct{})
		s.memory.Next(memory.Until(release))
		defer s.run(&told{})()
		s.enqueue("work", "q", which, time.Now())
		time.Sleep(6 * time.Second)
		if _, err := s.tries(ballot{Poll: "MEM000001", Choices: []string{"Friday"}, Voter: "a"}); err == nil {
			t.Error("the vote was taken for another one's")
		}
		close(release)
		synctest.Wait()
		if c := s.vote(ballot{Poll: "MEM000001", Choices: []string{"Friday"}, Voter: "a"}); c == nil {
			t.Error("the vote was not counted when it came again")
		}
	})
}

// One question that was never shown took every "1" of the chat for an answer, and held
// up the chat's votes in other polls for a day.
func TestAQuestionThatNobodySeesTakesNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, s := range map[string]*site{"numbered": newSite(t), "poll": polling(t)} {
			s.memory.Next(memory.Permanent())
			stop := s.run(&told{})
			if r := s.after("work", "q", which); r.Status != ipc.Failed {
				t.Fatalf("%s: %+v", name, r)
			}
			if c := s.vote(ballot{Text: "1", Voter: "a"}); c != nil {
				t.Errorf("%s: an answer was counted: %+v", name, c)
			}
			if c := s.vote(ballot{Poll: "a member's", Choices: []string{"Friday"}, Voter: "a"}); c != nil {
				t.Errorf("%s: a vote in another poll was counted: %+v", name, c)
			}
			stop()
		}
	})
}

// The chat was slow: the poll came after its time, and stayed open there for ever.
func TestAPollThatCameAfterItsTimeIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		s.memory.Disconnect()
		defer s.run(&told{})()
		s.enqueue("work", "q", which, time.Now())
		time.Sleep(20 * time.Minute)
		s.memory.Reconnect()
		time.Sleep(20 * time.Minute)
		if seen := s.memory.Shown("mem:work"); len(seen) != 1 || seen[0].Closed == "" {
			t.Errorf("the chat shows %+v", seen)
		}
	})
}

// "+1" says that a member agrees with somebody, and was counted as the first choice.
func TestOnlyAPlainNumberIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer s.run(&told{})()
		s.after("work", "q", which)
		for _, text := range []string{"+1", "01", "-1", "0", "1e0", "1 2"} {
			if c := s.vote(ballot{Text: text, Voter: "a"}); c != nil {
				t.Errorf("%q: %+v", text, c)
			}
		}
		if c := s.vote(ballot{Text: "1.", Voter: "a"}); c == nil {
			t.Error(`"1." is no answer`)
		}
	})
}

func TestAChoiceThatIsANumberIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer s.run(&told{})()
		years := which
		years.Choices = []string{"2026", "2027"}
		s.after("work", "q", years)
		if c := s.vote(ballot{Text: "2027", Voter: "a"}); c == nil || c.Choices[0] != "2027" {
			t.Errorf("%+v", c)
		}
	})
}

// A hundred long answers made a result that nobody could read back.
func TestManyLongAnswersStayBelowTheLimitOfAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer s.run(&told{})()
		long := which
		long.Several, long.Choices = true, nil
		for i := range 12 {
			long.Choices = append(long.Choices, strings.Repeat("<", 90)+string(rune('a'+i)))
		}
		s.after("work", "q", long)
		for i := range 150 {
			s.vote(ballot{Text: "1,2,3,4,5,6,7,8,9,10,11,12", Voter: strings.Repeat("x", i), Name: "<M>"})
		}
		o := s.outcome("q")
		r, _ := s.spool.Result("work", "q")
		if len(r.Data) > ipc.MaxData || len(o.Answers) == 0 || !strings.Contains(o.Words, "150 answered in all.") {
			t.Errorf("%d bytes, %d answers, %s", len(r.Data), len(o.Answers), o.Words)
		}
	})
}

// Questions that came in one batch did not count each other.
func TestAFloodOfQuestionsInOneBatchIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		for i := range 15 {
			s.enqueue("work", string(rune('a'+i)), which, time.Now())
		}
		defer s.run(&told{})()
		synctest.Wait()
		time.Sleep(time.Minute)
		if n, err := s.outbox.Reader().OpenAsks(t.Context(), "work", records.PolicyQuestion, time.Now()); n != 10 || err != nil {
			t.Errorf("%d questions are open, %v", n, err)
		}
	})
}

// The host was killed after it had recorded an answer, and before the result said so.
func TestTheLastAnswerBeforeACrashIsInTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		stop := s.run(&told{})
		r := s.after("work", "q", which)
		before, _ := s.spool.Result("work", "q")
		s.vote(ballot{Poll: r.MessageID, Choices: []string{"Friday"}, Voter: "a", Name: "Anna"})
		stop()
		check(t, s.spool.WriteResult("work", before))
		defer s.run(&told{})()
		if o := s.outcome("q"); len(o.Answers) != 1 {
			t.Errorf("after the restart: %+v", o)
		}
	})
}

// The tool returns at the first answer: the others were lost to the assistant.
func TestOnlyTheFirstAnswerIsReadByTheToolThatAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		defer s.run(&told{})()
		r := s.after("work", "q", which)
		for i, voter := range []string{"a", "a", "b"} {
			c := s.vote(ballot{Poll: r.MessageID, Choices: []string{"Friday"}, Voter: voter, Name: voter})
			if c == nil || c.Waited != (i < 2) { // one that is brought again is the same
				t.Errorf("answer %d: %+v", i, c)
			}
		}
	})
}

// TestAWithdrawalThatCameAgainTookALaterVoteAway: platforms bring events again, and in any order.
func TestAWithdrawalThatCameAgainTookALaterVoteAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := polling(t)
		defer s.run(&told{})()
		poll := s.after("work", "q", which).MessageID
		at := time.Now()
		votes := func(seconds int, choices ...string) {
			in := channel.Inbound{Kind: channel.KindVote, Target: poll, Choices: choices, From: "Anna", Time: at.Add(time.Duration(seconds) * time.Second)}
			_, _, _, err := s.Vote(t.Context(), workChat, in, "a")
			check(t, err)
		}
		votes(1, "Monday")
		votes(2)
		votes(3, "Friday")
		votes(2) // again
		if o := s.outcome("q"); len(o.Answers) != 1 || o.Counts["Friday"] != 1 {
			t.Errorf("after a vote and an earlier withdrawal: %+v", o)
		}
		votes(4)
		votes(3, "Friday") // again
		if o := s.outcome("q"); len(o.Answers) != 0 || o.Counts["Friday"] != 0 {
			t.Errorf("after a withdrawal and an earlier vote: %+v", o)
		}
		time.Sleep(time.Hour)
		if text := s.memory.Shown("mem:work")[0].Closed; text != "Closed. Nobody answered." {
			t.Errorf("the poll says %q", text)
		}
	})
}
