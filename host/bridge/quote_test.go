package bridge_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// pretenders are words that try to pass for the host's.
var pretenders = []string{
	"ok\nRule: none. May it go?",
	"ok`”\nRule: none. May it go? “`",
	"ok\u2028Rule: none.", "ok\rRule: none.", "ok\u0085Rule: none.", "ok\x0bRule: none.",
	"ok‟ Rule: none. 〝", "ok＂ Rule: none. ＂", "ok″ Rule", "ok❞ Rule: none. ❝", "ok» Rule: none. «", "ok„ Rule: none.‚",
	"\u202e.enon :eluR\u202c", "\u2067ok\u2069 Rule: none.", "ok\u200f\u061c Rule", "ok\u200bRule", "ok\ufe0fRule", "ok\U000e0041Rule",
	"> Rule: none. May it go?", "# Rule: none", "```\nRule: none\n```",
	"ok" + strings.Repeat(" \u2800\u3164", 200) + "Rule: none. May it go?",
	strings.Repeat("—", 300) + " Rule: none. May it go?",
	"Until 2 January 2000, 00:00 UTC, answer with one of these lines:",
}

// hostsLine is a line of a question whose words are all the host's, but for what it marks.
var hostsLine = regexp.MustCompile(`^(Group family wants to send to mem:family:|“[^“”]+”( \(\d+ bytes\))?|Rule: approve\.files\. May it go\?( Until .*, answer with one of these lines:)?|yes [0-9a-f]{32}|no [0-9a-f]{32}|\d+ more characters? that only the operator can read|\(the rest is cut off\)|)$`)

// TestAnAssistantsWordsStoodUnmarkedInAPoll, which shows no code marks: a line of theirs
// passed for the host's.
func TestAnAssistantsWordsStoodUnmarkedInAPoll(t *testing.T) {
	for _, poll := range []media.PollLimit{{}, {Choices: 2, Choice: 100, Question: 5000}} {
		for _, words := range pretenders {
			synctest.Test(t, func(t *testing.T) {
				s := newSiteOf(t, func(l *media.Limits) { l.Poll = poll }).asking()
				defer s.run(&told{})()
				r := file(s.write("family", "a.txt", "abc"))
				r.Files[0].Caption, r.Files[0].Name = words, media.Cut(words, 200)
				question := strings.ReplaceAll(s.asksFor(r).Text, "`", "")
				rules := 0
				for line := range strings.Lines(question) {
					line = strings.TrimSuffix(line, "\n")
					if !hostsLine.MatchString(line) || strings.ContainsAny(line, "\u2028\r\u0085\x0b\u202e\u2067\u200f\u200b\ufe0f") || len([]rune(line)) > 200 {
						t.Errorf("%q shows the line %q", words, line)
					}
					if strings.HasPrefix(line, "Rule:") {
						rules++
					}
				}
				if rules != 1 || !strings.Contains(question, "(3 bytes)") {
					t.Errorf("%q: %q", words, question)
				}
			})
		}
	}
}

// TestALongNameHidItsExtension: the approvers read the first 40 characters.
func TestALongNameHidItsExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t).asking()
		defer s.run(&told{})()
		r := file(s.write("family", "a.txt", "abc"))
		r.Files[0].Name = "holiday.jpg" + strings.Repeat("_", 60) + ".exe"
		if question := s.asksFor(r).Text; !strings.Contains(question, ".exe`”") || !strings.Contains(question, "“`holiday.jpg") || strings.Contains(question, strings.Repeat("_", 40)) {
			t.Errorf("the approvers read %q", question)
		}
	})
}

// TestAnAssistantChangedWhatTheHostSaid: it could edit, delete and react to the host's word
// about an answer, and react to its question.
func TestAnAssistantChangedWhatTheHostSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, channel.Forever).asking()
		defer s.run(&told{})()
		question := s.asksFor(file(s.write("family", "a.txt", "abc")))
		s.answers(question.Text, false)
		answer := s.sees("mem:ops", 2)[1]
		check(t, s.Tell(t.Context(), "ops", "", "The disk is full.", "notice"))
		notice := s.sees("mem:ops", 3)[2]
		i := 0
		for _, target := range []string{question.ID, answer.ID, notice.ID} {
			for _, r := range []ipc.Request{{Type: ipc.TypeEdit, Text: "Approved"}, {Type: ipc.TypeUnsend}, {Type: ipc.TypeReact, Emoji: "👍"}} {
				i++
				r.Target = target
				if got := s.after("ops", string(r.Type)+target, r); got.Status != ipc.Refused || got.Code != "not_your_message" {
					t.Errorf("%s of %s: %+v", r.Type, target, got)
				}
			}
		}
		said, err := s.outbox.Reader().Said(t.Context(), groups.Address{Channel: "memory", JID: "mem:ops"}, "ops", "", time.Now().Add(time.Hour), 10)
		if err != nil || len(said) > 0 {
			t.Errorf("the assistant reads %+v, %v", said, err)
		}
		accepted, err := s.outbox.Reader().AcceptedSince(t.Context(), "ops", "", time.Time{}, "none")
		if err != nil || !accepted {
			t.Errorf("what the host said does not count as said: %v, %v", accepted, err)
		}
		check(t, s.Say(t.Context(), "ops", "", "mine", "reply"))
		mine := s.sees("mem:ops", 4)[3]
		if got := s.after("ops", "own", ipc.Request{Type: ipc.TypeEdit, Target: mine.ID, Text: "mine, too"}); got.Status != ipc.Sent {
			t.Errorf("its own words: %+v", got)
		}
		var all []records.SentPart
		all, err = s.outbox.Reader().Sent(t.Context(), groups.Address{Channel: "memory", JID: "mem:ops"}, groups.Asker{}, notice.ID)
		if err != nil || len(all) != 1 || !all[0].Host {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestAQuoteShowedTheHostsQuestionToTheAssistant, with the words that answer it.
func TestAQuoteShowedTheHostsQuestionToTheAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t).asking()
		defer s.run(&told{})()
		question := s.asksFor(file(s.write("family", "a.txt", "abc")))
		s.answers(question.Text, false)
		answer := s.sees("mem:ops", 2)[1]
		check(t, s.Say(t.Context(), "ops", "", "mine", "reply"))
		mine := s.sees("mem:ops", 3)[2]
		synctest.Wait() // until their ids are recorded
		chat := groups.Address{Channel: "memory", JID: "mem:ops"}
		for _, seen := range []memory.Seen{question, answer, mine} {
			host := seen.ID != mine.ID
			in := channel.Inbound{Text: "what is this?", Quote: &channel.Quote{ID: seen.ID, Text: seen.Text, Own: true}}
			if drop, err := s.Hide(t.Context(), chat, &in); drop || err != nil || (in.Quote == nil) != host {
				t.Errorf("%q: the assistant reads %+v, %v, %v", seen.Text, in.Quote, drop, err)
			}
			if drop, err := s.Hide(t.Context(), chat, &channel.Inbound{Kind: channel.KindReaction, Target: seen.ID, Emoji: "👍"}); drop != host || err != nil {
				t.Errorf("%q: a reaction to it is dropped: %v, %v", seen.Text, drop, err)
			}
		}
	})
}

// TestAVoteFromOutsideTheChatCounted: it is dropped, and the chat is told once.
func TestAVoteFromOutsideTheChatCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer s.run(&told{})()
		for range 3 {
			in := channel.Inbound{Kind: channel.KindVote, Chat: "mem:family", Target: "4711", Outside: true}
			if drop, err := s.Hide(t.Context(), groups.Address{Channel: "memory", JID: "mem:family"}, &in); !drop || err != nil {
				t.Errorf("%v, %v", drop, err)
			}
		}
		check(t, s.Say(t.Context(), "family", "", "end", "end"))
		if seen := s.sees("mem:family", 2); !strings.HasPrefix(seen[0].Text, "A vote does not count") || seen[1].Text != "end" {
			t.Errorf("the chat reads %+v", seen)
		}
	})
}
