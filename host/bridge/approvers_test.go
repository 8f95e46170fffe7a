package bridge_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// asking is a site whose group family sends files after a yes in the chat of the group ops.
func (s *site) asking() *site {
	s.t.Helper()
	s.set.approvers = "ops"
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	return s
}

// linking is a site whose files above ten bytes go as links, after a yes.
func linking(t *testing.T) *site {
	s := newSiteOf(t, func(l *media.Limits) {
		l.Kinds = maps.Clone(l.Kinds)
		document := l.Kinds[media.Document]
		document.Bytes = 10
		l.Kinds[media.Document] = document
	})
	s.set.links = &channel.LinkTerms{URL: "https://files.example", For: time.Hour, Largest: 1 << 20, Quota: 1 << 20}
	s.opts.Addresses = addresses{}
	s.Bridge = bridge.New(s.opts)
	return s.asking()
}

// sees waits until a chat of a site that runs has n messages.
func (s *site) sees(chat groups.JID, n int) []memory.Seen {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	seen, err := s.memory.WaitShown(ctx, chat, n)
	check(s.t, err)
	return seen
}

// asksFor has the group family ask for a file, and returns what the approvers read.
func (s *site) asksFor(r ipc.Request) memory.Seen {
	s.t.Helper()
	s.enqueue("family", "0001", r, time.Now())
	return s.sees("mem:ops", 1)[0]
}

// waitsAsLink has a file wait whose link is returned, with the question of the approvers.
func (s *site) waitsAsLink() (link *records.Link, question string) {
	s.t.Helper()
	r := file(s.write("family", "film.bin", strings.Repeat("frames ", 2000)))
	r.Files[0].Caption = "the wedding"
	question = s.asksFor(r).Text
	d, err := s.outbox.Get(s.t.Context(), "0001")
	check(s.t, err)
	if link = d.Parts[0].Link; link == nil || !d.Waits() {
		s.t.Fatalf("%+v", d)
	}
	return link, question
}

// oneLine is a question whose lines of foreign words are joined.
func oneLine(question string) string { return strings.ReplaceAll(question, "`”\n“`", " ") }

func (s *site) wantNoLink(l *records.Link) {
	s.t.Helper()
	if _, _, err := s.outbox.OpenLink(s.t.Context(), l.ID); !errors.Is(err, records.ErrNoLink) {
		s.t.Errorf("the file can be fetched: %v", err)
	}
}

// TestAFileBehindALinkWasFetchedBeforeAnybodySaidYes: the question showed its address, and
// the address worked.
func TestAFileBehindALinkWasFetchedBeforeAnybodySaidYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linking(t)
		defer s.run(&told{})()
		link, question := s.waitsAsLink()
		if strings.Contains(question, link.ID) || !strings.Contains(oneLine(question), "the wedding") || !strings.Contains(question, "film.bin") {
			t.Errorf("the approvers read %q", question)
		}
		s.wantNoLink(link)
		s.answers(question, true)
		if seen := s.sees("mem:family", 1); !strings.Contains(seen[0].Text, link.ID) {
			t.Errorf("the chat reads %q", seen[0].Text)
		}
		_, f, err := s.outbox.OpenLink(t.Context(), link.ID)
		check(t, err)
		check(t, f.Close())
	})
}

func TestALinkThatWasRefusedEndsWithTheNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linking(t)
		defer s.run(&told{})()
		link, question := s.waitsAsLink()
		s.answers(question, false)
		s.wantNoLink(link)
		left, err := s.outbox.Reader().Links(t.Context(), "")
		if err != nil || len(left) > 0 {
			t.Error(left, err)
		}
	})
}

// TestAYesToALinkThatIsGoneHeldUpTheApproversChat: the error passed, so the chat's next
// messages waited for a day.
func TestAYesToALinkThatIsGoneHeldUpTheApproversChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := linking(t)
		defer s.run(&told{})()
		link, question := s.waitsAsLink()
		check(t, s.outbox.EndLink(t.Context(), link.ID))
		s.answers(question, true)
		if answer := s.sees("mem:ops", 2)[1].Text; !strings.Contains(answer, "gone") {
			t.Errorf("the approvers read %q", answer)
		}
	})
}

// TestAnAssistantRewroteTheQuestionThatItsMembersAnswer, or took it away, or read its id.
func TestAnAssistantRewroteTheQuestionThatItsMembersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, channel.Forever).asking()
		defer s.run(&told{})()
		question := s.asksFor(file(s.write("family", "a.txt", "abc")))
		for _, r := range []ipc.Request{{Type: ipc.TypeEdit, Target: question.ID, Text: "harmless"}, {Type: ipc.TypeUnsend, Target: question.ID}} {
			if got := s.after("ops", string(r.Type), r); got.Status != ipc.Refused || got.Code != "not_your_message" {
				t.Errorf("%s: %+v", r.Type, got)
			}
		}
		said, err := s.outbox.Reader().Said(t.Context(), groups.Address{Channel: "memory", JID: "mem:ops"}, "ops", "", time.Now().Add(time.Hour), 10)
		if err != nil || len(said) > 0 {
			t.Errorf("the assistant reads %+v, %v", said, err)
		}
	})
}

// TestAltTextsLeftUnread: the approvers read the caption of a picture and not its alt text.
func TestAltTextsLeftUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t).asking()
		defer s.run(&told{})()
		r := file(s.write("family", "a.txt", "abc"))
		r.Files[0].Alt = "the code is 4711"
		if question := s.asksFor(r).Text; !strings.Contains(question, "the code is 4711") {
			t.Errorf("the approvers read %q", question)
		}
	})
}

// TestTheApproversReadAnEditAsAMessage: they could not see that a message would be replaced.
func TestTheApproversReadAnEditAsAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := acting(t, channel.Forever).asking()
		s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
		defer s.run(&told{})()
		wants := func(id string, r ipc.Request, n int, want string) {
			t.Helper()
			s.enqueue("family", id, r, time.Now())
			if question := s.sees("mem:ops", n)[n-1].Text; !strings.HasPrefix(question, "Group family wants to "+want+" mem:work:\n") {
				t.Errorf("the approvers read %q", question)
			}
		}
		wants("0001", ipc.Request{Type: ipc.TypeMessage, Text: "words", Chat: "mem:work"}, 1, "send to")
		check(t, s.Decide(t.Context(), "0001", true, "operator")) // which the approvers read
		requests := actionsOn("mem:work", s.sees("mem:work", 1)[0].ID)
		wants("0002", requests[groups.ActEdit], 3, "change a message in")
		wants("0003", requests[groups.ActReact], 4, "react to a message in")
	})
}
