package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// asker is somebody who asks people by one of the policies. What reads returns is empty while
// there is no answer.
type asker struct {
	policy   records.Policy
	chat     groups.JID // that is asked
	asks     func(s *site)
	votes    func(s *site, choice string, v channel.Inbound) // choice is yes or no
	records  func(s *site, a *records.Ask)                   // a yes, and the host dies at once
	reads    func(s *site) string
	yes, no  string // what reads says then
	nobody   string // and if nobody answers
	closed   string // how the poll ends after a yes
	late     string // after the time is over
	messages int    // in the chat in the end, after a yes
}

// lasts is for how long an answer counts.
const lasts = 10 * time.Minute

// askers has each policy. A new policy goes here.
func askers() []asker {
	named := func(s *site, choice string, v channel.Inbound) {
		if v.Chat == "" {
			v.Chat = "mem:ops"
		}
		_, err := s.Answer(s.t.Context(), groups.Address{Channel: "memory", JID: v.Chat}, &v)
		check(s.t, err)
	}
	ends := func(s *site, a *records.Ask) {
		check(s.t, s.outbox.Answer(s.t.Context(), a, records.AnswerYes, "U1"))
	}
	return []asker{
		{
			policy: records.PolicyQuestion, chat: "mem:work", messages: 1,
			asks: func(s *site) {
				s.enqueue("work", "q", ipc.Request{Type: ipc.TypeAsk, Text: "Which?", Choices: []string{"yes", "no"}}, time.Now())
				s.carry("work")
			},
			votes: func(s *site, choice string, v channel.Inbound) {
				v.Chat, v.Text = "mem:work", strings.TrimPrefix(v.Text, "yes ")
				_, _, _, err := s.Vote(s.t.Context(), workChat, v, "a")
				check(s.t, err)
			},
			records: func(s *site, a *records.Ask) {
				_, err := s.outbox.Vote(s.t.Context(), a, records.Answer{Name: "Ann", Voter: "a", Choices: []string{"yes"}, Time: time.Now()})
				check(s.t, err)
			},
			reads: func(s *site) string {
				switch o := s.outcome("q"); {
				case len(o.Answers) > 0:
					return o.Answers[0].Choices[0]
				case !o.Open:
					return "over"
				}
				return ""
			},
			yes: "yes", no: "no", nobody: "over", late: "Closed. Nobody answered.",
		},
		{
			policy: records.PolicyApproval, chat: "mem:ops", messages: 2,
			asks: func(s *site) {
				s.asking().allow(func(g *groups.Group) { g.Approve.Within = setting.Duration(lasts) })
				s.enqueue("family", "0001", file(s.write("family", "a.txt", "for you")), time.Now())
				s.carry("family")
			},
			votes: named, records: ends,
			reads: func(s *site) string {
				d, err := s.outbox.Get(s.t.Context(), "0001")
				check(s.t, err)
				if d.Waits() {
					return ""
				}
				return string(d.Parts[0].State) + d.Parts[0].Code
			},
			yes: "sent", no: "refusednot_approved", nobody: "refusedapproval_expired",
			closed: "Approved: it is being sent.", late: "Nobody answered in time: it is not sent.",
		},
		{
			policy: records.PolicyPermission, chat: "mem:ops", messages: 2,
			asks: func(s *site) {
				s.set.approvers, s.set.mayAsk = "ops", []string{"family"}
				p, err := s.AskPermission(s.t.Context(), "family", "t1", ipc.Permission{Tool: "Bash", Input: "ls"})
				check(s.t, err)
				s.session = p.ID
			},
			votes: named, records: ends,
			reads: func(s *site) string {
				p, err := s.Permission(s.t.Context(), "family", "t1", s.session, 0)
				check(s.t, err)
				return p.Answer
			},
			yes: "allow", no: "deny", nobody: "deny",
			closed: "Allowed: the session may use the tool, once.", late: "Nobody answered in time: the session may not use the tool.",
		},
	}
}

// forms are the ways in which a chat shows what it is asked.
var forms = map[string]func(t *testing.T) *site{
	"poll": func(t *testing.T) *site {
		l := media.DefaultLimits()
		l.Poll = media.PollLimit{Choices: 4, Choice: 20, Question: 2000}
		m := memory.New(memory.Options{Online: true, Limits: l})
		s := newSite(t, func(o *outbox.Options) { o.Channels = []channel.Channel{memory.Acting{Channel: m}} })
		s.memory = m
		return s
	},
	"words": func(t *testing.T) *site { return newSite(t) },
}

// by is a member's vote for what a message asks.
func by(member string, asked memory.Seen, choice string) channel.Inbound {
	v := channel.Inbound{Sender: member, From: "Ann", Time: time.Now()}
	if asked.Poll == nil {
		v.Text = choice
		if strings.Contains(asked.Text, "`yes ") {
			v.Text += " " + answerTo(asked.Text)
		}
		return v
	}
	v.Kind, v.Target, v.Choices = channel.KindVote, asked.ID, asked.Poll.Choices[:1]
	if choice == "no" {
		v.Choices = asked.Poll.Choices[1:]
	}
	return v
}

// shows runs a host until it has nothing to do, and returns what the chat shows.
func (a *asker) shows(s *site) []memory.Seen {
	s.runOnce()
	return s.memory.Shown(a.chat)
}

// each runs a test for each policy and form.
func each(t *testing.T, test func(t *testing.T, s *site, a *asker)) {
	for form, newSite := range forms {
		for _, a := range askers() {
			t.Run(fmt.Sprint(a.policy, " by ", form), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, newSite(t), &a) })
			})
		}
	}
}

// TestWhatPeopleAreAskedOutlivesAHost that ends, or is killed after each record on the way from
// the question to the sight of its end: once shown, once answered, once ended.
func TestWhatPeopleAreAskedOutlivesAHost(t *testing.T) {
	for _, dies := range []string{"never", "asked", "shown", "voted", "recorded", "everywhere"} {
		t.Run(dies, func(t *testing.T) {
			each(t, func(t *testing.T, s *site, a *asker) {
				at := func(step string) {
					if dies == step || dies == "everywhere" {
						s.restart()
					}
				}
				a.asks(s)
				at("asked")
				shown := a.shows(s)
				if len(shown) != 1 || a.reads(s) != "" {
					t.Fatalf("asked by %+v, and the answer is %q", shown, a.reads(s))
				}
				at("shown")
				if dies == "recorded" || dies == "everywhere" { // the answer, and nothing that follows from it
					open, err := s.outbox.Reader().AsksIn(t.Context(), groups.Address{Channel: "memory", JID: a.chat}, time.Now())
					if err != nil || len(open) != 1 {
						t.Fatal(open, err)
					}
					a.records(s, &open[0])
					at("recorded")
				} else {
					a.votes(s, "yes", by("U1", shown[0], "yes"))
					at("voted")
				}
				shown = a.shows(s)
				if got := a.reads(s); got != a.yes {
					t.Errorf("the asker reads %q", got)
				}
				if a.policy == records.PolicyQuestion { // it ends by its time
					time.Sleep(lasts + time.Second)
					if shown = a.shows(s); shown[0].Poll != nil && shown[0].Closed != "Closed. yes: 1, no: 0." {
						t.Errorf("closed: %q", shown[0].Closed)
					}
				} else if last := shown[len(shown)-1]; shown[0].Poll != nil && shown[0].Closed != a.closed || last.Text != a.closed || last.ReplyTo != shown[0].ID {
					t.Errorf("closed: %q, and the chat reads %+v", shown[0].Closed, last)
				}
				if len(shown) != a.messages {
					t.Errorf("the chat shows %d messages: %+v", len(shown), shown)
				}
				s.restart()
				if again := a.shows(s); len(again) != len(shown) || a.reads(s) != a.yes {
					t.Errorf("the next host shows %+v, and the asker reads %q", again, a.reads(s))
				}
			})
		})
	}
}

// TestWhatNobodyAnswersEndsAndTheChatSeesIt, whether a host runs then or not, and a later yes
// changes nothing.
func TestWhatNobodyAnswersEndsAndTheChatSeesIt(t *testing.T) {
	for _, away := range []bool{false, true} {
		each(t, func(t *testing.T, s *site, a *asker) {
			a.asks(s)
			asked := a.shows(s)[0]
			stop := s.run(&told{})
			for range 10 { // the asker waits
				time.Sleep(lasts / 10)
				if a.policy == records.PolicyPermission && !away {
					a.reads(s)
				}
				if away {
					stop()
					stop = func() {}
				}
			}
			time.Sleep(time.Second)
			stop()
			if away {
				s.restart()
			}
			shown := a.shows(s)
			if got := a.reads(s); got != a.nobody {
				t.Errorf("the asker reads %q", got)
			}
			if asked.Poll != nil && shown[0].Closed != a.late {
				t.Errorf("closed: %q", shown[0].Closed)
			}
			if last := shown[len(shown)-1]; len(shown) != a.messages || a.messages > 1 && last.Text != a.late {
				t.Errorf("the chat shows %+v", shown)
			}
			a.votes(s, "yes", by("U1", asked, "yes"))
			shown = a.shows(s)
			if got := a.reads(s); got != a.nobody {
				t.Errorf("after a late yes the asker reads %q", got)
			}
			if last := shown[len(shown)-1]; a.messages > 1 && !strings.HasPrefix(last.Text, "Somebody has answered before, or the time is over.") {
				t.Errorf("the chat reads %+v", last)
			}
		})
	}
}

// A channel that was down as the time was over has no polls to close, so that its poll stayed open for ever.
func TestThePollOfAChannelThatWasDownWasNeverClosed(t *testing.T) {
	for _, a := range askers() {
		t.Run(string(a.policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := media.DefaultLimits()
				l.Poll = media.PollLimit{Choices: 4, Choice: 20, Question: 2000}
				m := memory.New(memory.Options{Online: true, Limits: l})
				up := memory.Acting{Channel: m}
				h := channel.NewHolder(up)
				s := newSite(t, func(o *outbox.Options) { o.Channels = []channel.Channel{h} })
				s.memory = m
				a.asks(s)
				a.shows(s)
				defer s.run(&told{})()
				h.Replace(standIn{m})
				time.Sleep(lasts + time.Minute)
				h.Replace(up)
				time.Sleep(lasts)
				if shown := s.memory.Shown(a.chat); len(shown) == 0 || shown[0].Closed == "" {
					t.Errorf("the chat shows %+v", shown)
				}
			})
		})
	}
}

// TestWhatNobodySeesEndsWithoutAWord: the platform refused the question.
func TestWhatNobodySeesEndsWithoutAWord(t *testing.T) {
	each(t, func(t *testing.T, s *site, a *asker) {
		s.memory.Next(memory.Permanent())
		a.asks(s)
		if shown := a.shows(s); len(shown) != 0 {
			t.Fatalf("%+v", shown)
		}
		time.Sleep(lasts + time.Second)
		if shown := a.shows(s); len(shown) != 0 {
			t.Errorf("the chat reads %+v", shown)
		}
		if got := a.reads(s); got != a.nobody {
			t.Errorf("the asker reads %q", got)
		}
		due, err := s.outbox.Reader().DueAsks(t.Context(), time.Now(), true)
		if err != nil || len(due) != 0 {
			t.Errorf("left: %+v, %v", due, err)
		}
	})
}

// TestAnAnswerOfTheWrongPersonCounts for none of the policies. Members who may not speak are
// refused before: see TestWhoMayNotSpeakAnswersNoQuestionAndFilesAreNoAnswers in turns.
func TestAnAnswerOfTheWrongPersonCounts(t *testing.T) {
	each(t, func(t *testing.T, s *site, a *asker) {
		a.asks(s)
		asked := a.shows(s)[0]
		wrong := map[string]func(v *channel.Inbound){
			"a choice that is none": func(v *channel.Inbound) { v.Choices, v.Text = []string{"Sunday"}, "maybe" },
			"another poll":          func(v *channel.Inbound) { v.Target, v.Text = "MEM99", "yes "+strings.Repeat("0", 32) },
			"the session's own id":  func(v *channel.Inbound) { v.Target, v.Text = s.session, "yes "+s.session },
		}
		if a.policy != records.PolicyQuestion {
			wrong["another member"] = func(v *channel.Inbound) { v.Sender = "U2" }
			wrong["nobody vouches"] = func(v *channel.Inbound) { v.Sender, v.From = "", "U1" }
			wrong["forwarded"] = func(v *channel.Inbound) { v.Forwarded = true }
			wrong["another chat"] = func(v *channel.Inbound) { v.Chat = "mem:family" }
		}
		for name, change := range wrong {
			v := by("U1", asked, "yes")
			change(&v)
			a.votes(s, "yes", v)
			a.shows(s)
			if got := a.reads(s); got != "" {
				t.Errorf("%s: the asker reads %q", name, got)
			}
		}
		a.votes(s, "no", by("U1", asked, "no"))
		a.shows(s)
		if got := a.reads(s); got != a.no {
			t.Errorf("after the right one the asker reads %q", got)
		}
		chat := groups.Address{Channel: "memory", JID: a.chat}
		if host, err := s.outbox.Reader().Sent(t.Context(), chat, groups.Asker{}, asked.ID); err != nil || len(host) != 1 || host[0].Host != (a.messages > 1) {
			t.Errorf("the question is whose? %+v, %v", host, err)
		}
	})
}

// TestAPermissionOfASessionThatIsGoneIsOver, and said to be: it lost the host, or the host lost
// it. One that comes back in time waits on.
func TestAPermissionOfASessionThatIsGoneIsOver(t *testing.T) {
	for name, newSite := range forms {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprint(name, back), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t)
					all := askers()
					a := all[slices.IndexFunc(all, func(a asker) bool { return a.policy == records.PolicyPermission })]
					a.asks(s)
					a.shows(s)
					time.Sleep(5 * time.Minute) // no host runs
					s.restart()
					stop := s.run(&told{})
					time.Sleep(time.Minute)
					if back {
						if got := a.reads(s); got != "" {
							t.Errorf("a session that is back reads %q", got)
						}
					}
					time.Sleep(90 * time.Second)
					stop()
					shown := s.memory.Shown(a.chat)
					over := strings.HasPrefix(shown[len(shown)-1].Text, "This is over: the session that asked has ended")
					if over == back || shown[0].Poll != nil && (shown[0].Closed == "") != back {
						t.Errorf("the chat shows %+v", shown)
					}
					if got := a.reads(s); (got == ipc.Denied) == back {
						t.Errorf("the session reads %q", got)
					}
				})
			})
		}
	}
}

// TestWhoeverWasQuickerThanAStartWasTooLate: a session that came back, or a yes, at the moment in
// which the host began again and had not yet looked at what waits.
func TestWhoeverWasQuickerThanAStartWasTooLate(t *testing.T) {
	for name, newSite := range forms {
		for _, votes := range []bool{false, true} {
			t.Run(fmt.Sprint(name, votes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t)
					all := askers()
					a := all[slices.IndexFunc(all, func(a asker) bool { return a.policy == records.PolicyPermission })]
					a.asks(s)
					asked := a.shows(s)[0]
					time.Sleep(5 * time.Minute) // no host runs
					s.restart()
					want := ""
					if votes {
						a.votes(s, "yes", by("U1", asked, "yes"))
						want = a.yes
					}
					if got := a.reads(s); got != want {
						t.Errorf("the session reads %q, want %q", got, want)
					}
				})
			})
		}
	}
}

// TestALateYesDoesNotCountBeforeTheHostHasNoticedTheEnd.
func TestALateYesDoesNotCountBeforeTheHostHasNoticedTheEnd(t *testing.T) {
	each(t, func(t *testing.T, s *site, a *asker) {
		a.asks(s)
		asked := a.shows(s)[0]
		time.Sleep(lasts + time.Second)
		a.votes(s, "yes", by("U1", asked, "yes"))
		a.shows(s)
		if got := a.reads(s); got != a.nobody {
			t.Errorf("the asker reads %q", got)
		}
	})
}

// TestANumberIsNoAnswerToAnApproval: what the approvers are asked in words takes its id alone, and
// keeps no answer from an assistant's question.
func TestANumberIsNoAnswerToAnApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.enqueue("ops", "q", which, time.Now())
		s.carry("ops")
		s.runOnce()
		a := askers()[1]
		a.asks(s)
		s.runOnce()
		in := channel.Inbound{Text: "1", From: "Ann", Sender: "U1", Time: time.Now()}
		a.votes(s, "yes", in)
		chat := groups.Address{Channel: "memory", JID: "mem:ops"}
		target, choices, _, err := s.Vote(t.Context(), chat, in, "a")
		if err != nil || target == "" || len(choices) != 1 || choices[0] != "Monday" {
			t.Errorf("it answers %q by %q, %v", target, choices, err)
		}
		if got := a.reads(s); got != "" {
			t.Errorf("the approval is over: %q", got)
		}
	})
}

// TestApproversWereNeverAskedAboutWhatWaitedForADay: the host died before it had asked them, and
// a start looked at the deliveries of the last day alone. Approvers who are named later are asked, too.
func TestApproversWereNeverAskedAboutWhatWaitedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t).asking()
		s.allow(func(g *groups.Group) { g.Approve.Within = setting.Duration(100 * time.Hour) })
		s.set.approvers = ""
		s.enqueue("family", "0001", file(s.write("family", "a.txt", "for you")), time.Now())
		s.carry("family")
		s.runOnce()
		time.Sleep(50 * time.Hour)
		s.restart()
		s.set.approvers = "ops"
		s.runOnce()
		if shown := s.memory.Shown("mem:ops"); len(shown) != 1 || !strings.Contains(shown[0].Text, "a.txt") {
			t.Errorf("the approvers read %+v", shown)
		}
	})
}

// TestASessionThatWaitsInOneLongCallIsNotTakenForGone.
func TestASessionThatWaitsInOneLongCallIsNotTakenForGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		askers()[2].asks(s)
		defer s.run(&told{})()
		asked := s.sees("mem:ops", 1)[0]
		got := make(chan ipc.Permission, 1)
		go func() {
			p, err := s.Permission(t.Context(), "family", "t1", s.session, lasts)
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		time.Sleep(lasts - time.Minute)
		s.answers(asked.Text, true)
		if p := <-got; p.Answer != ipc.Allowed {
			t.Errorf("the session reads %+v", p)
		}
	})
}

// TestASessionThatAskedWithoutPauseWroteTheDiskEachTime it asked for an answer.
func TestASessionThatAskedWithoutPauseWroteTheDiskEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		a := askers()[2]
		a.asks(s)
		written := map[time.Time]bool{}
		for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(time.Second / 4) {
			if got := a.reads(s); got != "" {
				t.Fatalf("the session reads %q", got)
			}
			ask, err := s.outbox.Reader().Permission(t.Context(), s.session)
			check(t, err)
			written[ask.Expires] = true
		}
		if len(written) > 40 {
			t.Errorf("what was asked was written %d times", len(written))
		}
		if got := a.reads(s); got != a.nobody {
			t.Errorf("in the end the session reads %q", got)
		}
		if ask, err := s.outbox.Reader().Permission(t.Context(), s.session); err != nil || ask.Answer != records.AnswerNone {
			t.Errorf("it ended by %q, %v", ask.Answer, err)
		}
	})
}

// TestAYesThatCameAgainWasToldThatSomebodyHadAnsweredBefore: the host was killed after it had recorded
// the answer, so the channel brought it again.
func TestAYesThatCameAgainWasToldThatSomebodyHadAnsweredBefore(t *testing.T) {
	each(t, func(t *testing.T, s *site, a *asker) {
		if a.policy == records.PolicyQuestion {
			return // each vote replaces the member's last one
		}
		a.asks(s)
		asked := a.shows(s)[0]
		a.votes(s, "yes", by("U1", asked, "yes"))
		s.restart()
		a.votes(s, "yes", by("U1", asked, "yes"))
		if shown := a.shows(s); len(shown) != a.messages {
			t.Errorf("the chat shows %+v", shown)
		}
		a.votes(s, "no", by("U1", asked, "no"))
		if shown := a.shows(s); len(shown) != a.messages+1 || !strings.HasPrefix(shown[a.messages].Text, "Somebody has answered before") {
			t.Errorf("after another answer the chat shows %+v", shown)
		}
	})
}
