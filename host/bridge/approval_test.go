package bridge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/ipc"
)

// builtIn are the names of the built-in rules.
func builtIn() (names []string) {
	for _, r := range screen.BuiltIn() {
		names = append(names, r.Name)
	}
	return names
}

// TestWhatARuleMarksWaits for a person, and nothing else does.
func TestWhatARuleMarksWaits(t *testing.T) {
	send := func(name string) ipc.Request {
		return ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name}}}
	}
	for name, tt := range map[string]struct {
		approve groups.Approve
		request ipc.Request
		rule    string
	}{
		"nothing is on":         {groups.Approve{}, send("a.txt"), ""},
		"every file":            {groups.Approve{Files: true}, send("a.txt"), "approve.files"},
		"a text":                {groups.Approve{Files: true, First: true}, ipc.Request{Type: ipc.TypeMessage, Text: "hi"}, ""},
		"a kind":                {groups.Approve{Kinds: []string{"document"}}, send("a.txt"), "approve.kinds"},
		"another kind":          {groups.Approve{Kinds: []string{"image"}}, send("a.txt"), ""},
		"a large file":          {groups.Approve{Above: 3}, send("a.txt"), "approve.above"},
		"a small file":          {groups.Approve{Above: 4}, send("a.txt"), ""},
		"the first file":        {groups.Approve{First: true}, send("a.txt"), "approve.first"},
		"its own chat":          {groups.Approve{Foreign: true}, send("a.txt"), ""},
		"a text to a far chat":  {groups.Approve{Foreign: true}, ipc.Request{Type: ipc.TypeMessage, Text: "hi", Chat: "mem:work"}, "approve.foreign"},
		"a question to a chat":  {groups.Approve{Foreign: true}, ipc.Request{Type: ipc.TypeAsk, Text: "now?", Choices: []string{"yes", "no"}, Chat: "mem:work"}, "approve.foreign"},
		"a name that is marked": {groups.Approve{}, send("a draft.txt"), "screen.ask drafts"},
		"marked content":        {groups.Approve{}, send("secret.txt"), "screen.ask confidential"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.allow(func(g *groups.Group) { g.Approve, g.MaySendTo = tt.approve, []string{"work"} })
			s.write("family", "a.txt", "abc\n")
			s.write("family", "a draft.txt", "abc\n")
			s.write("family", "secret.txt", strings.Repeat("x", 1000)+"CONFIDENTIAL")
			if fate := s.handle("family", tt.request)[0]; !fate.Accepted {
				t.Fatalf("%+v", fate)
			}
			d, err := s.outbox.Get(t.Context(), "0001")
			check(t, err)
			if waits := d.Parts[0].State == records.Waiting; waits != (tt.rule != "") || !strings.Contains(d.Parts[0].Message, tt.rule) {
				t.Errorf("%+v", d.Parts[0])
			}
			if r := report.Result(d); tt.rule != "" && (r.Status != ipc.Queued || r.Code != ipc.CodeAwaiting) {
				t.Errorf("the assistant reads %+v", r)
			}
		})
	}
}

// allow changes the group family as a reload does.
func (s *site) allow(change func(*groups.Group)) {
	s.t.Helper()
	all := s.set.registry.All()
	for i := range all {
		if all[i].Folder == "family" {
			change(&all[i])
		}
	}
	registry, err := groups.NewRegistry(all)
	check(s.t, err)
	s.set.registry = registry
}

// TestAnAnswerCountsOnceAndOnlyWithTheRightsOfNow: a yes to what the group may no longer
// send is refused, and a no is always taken.
func TestAnAnswerCountsOnceAndOnlyWithTheRightsOfNow(t *testing.T) {
	s := newSite(t)
	s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
	for _, words := range []string{"one", "two"} {
		s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: words, Chat: "mem:work"})
	}
	check(t, s.Decide(t.Context(), "0001", true, "operator"))
	if err := s.Decide(t.Context(), "0001", true, "operator"); !errors.Is(err, records.ErrDecided) {
		t.Errorf("a second yes: %v", err)
	}
	if seen := s.shown("mem:work", 1); seen[0].Text != "one" {
		t.Errorf("shown: %+v", seen)
	}
	s.allow(func(g *groups.Group) { g.MaySendTo = nil })
	if r := bridge.AsRefusal(s.Decide(t.Context(), "0002", true, "operator")); r == nil || r.Code != groups.CodeChatNotAllowed {
		t.Errorf("a yes without the right: %+v", r)
	}
	check(t, s.Decide(t.Context(), "0002", false, "operator"))
	d, err := s.outbox.Get(t.Context(), "0002")
	check(t, err)
	if r := report.Result(d); r.Status != ipc.Refused || r.Code != records.CodeNotApproved || r.Hint == "" {
		t.Errorf("after a no the assistant reads %+v", r)
	}
}

// TestAYesThatComesAfterANoIsToldSo: the no takes the bytes, and the yes, which screens them
// once more, said that a file is missing.
func TestAYesThatComesAfterANoIsToldSo(t *testing.T) {
	s := newSite(t)
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	for i, content := range []string{"few", strings.Repeat("many ", 10_000)} { // in the database, and in a file
		s.handle("family", file(s.write("family", "a.txt", content)))
		id := fmt.Sprintf("%04d", i+1)
		check(t, s.Decide(t.Context(), id, false, "operator"))
		if err := s.Decide(t.Context(), id, true, "operator"); !errors.Is(err, records.ErrDecided) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
	}
}

// TestARuleThatComesDuringACopyHolds: a reload once could not stop what was being copied.
func TestARuleThatComesDuringACopyHolds(t *testing.T) {
	s := newSite(t)
	before := s.set.registry
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	after, o := s.set.registry, s.opts
	s.set.registry = before
	o.Trace = func(_, _, step string) {
		if step == "copied" {
			s.set.registry = after
		}
	}
	s.Bridge = bridge.New(o)
	s.handle("family", file(s.write("family", "a.txt", "for you")))
	d, err := s.outbox.Get(t.Context(), "0001")
	check(t, err)
	if d.Parts[0].State != records.Waiting {
		t.Errorf("%+v", d.Parts[0])
	}
}

// TestWhatWaitsTakesNoRoomOfWhatGoes: one group's requests that wait for a person once
// deferred its later ones for as long as nobody answered.
func TestWhatWaitsTakesNoRoomOfWhatGoes(t *testing.T) {
	s := newSite(t, func(o *outbox.Options) { o.Settings = limited(outbox.Limits{QuotaPending: 2}) })
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	r := file(s.write("family", "a.txt", "for you"))
	fates := s.handle("family", r, r, r)
	if !fates[0].Accepted || !fates[1].Accepted || fates[2].Refusal == nil || fates[2].Refusal.Code != "approvals_full" {
		t.Errorf("three that wait: %+v", fates)
	}
	for range 2 {
		if fate := s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "hi"})[0]; !fate.Accepted {
			t.Errorf("a text, which does not wait: %+v", fate)
		}
	}
}

// TestAnEditForAnotherChatWaits: words that nobody has approved came by way of an approved
// message.
func TestAnEditForAnotherChatWaits(t *testing.T) {
	s := acting(t, channel.Forever)
	s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
	s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "harmless", Chat: "mem:work"})
	check(t, s.Decide(t.Context(), "0001", true, "operator"))
	target := s.shown("mem:work", 1)[0].ID
	if fate := s.handle("family", ipc.Request{Type: ipc.TypeEdit, Chat: "mem:work", Target: target, Text: "something else"})[0]; !fate.Accepted {
		t.Fatalf("%+v", fate)
	}
	d, err := s.outbox.Get(t.Context(), "0002")
	check(t, err)
	if d.Parts[0].State != records.Waiting || !strings.Contains(d.Parts[0].Message, "approve.foreign") {
		t.Errorf("%+v", d.Parts[0])
	}
}

// A reaction waits for nobody, and took words of 512 bytes to another group's chat.
func TestAReactionTookWordsWhereWordsWait(t *testing.T) {
	s := acting(t, channel.Forever)
	s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
	for i, emoji := range []string{"the code is 4711", "x", "4", "\n", strings.Repeat("👍", 17), "👍👍", "🇩🇪🇫🇷", "\ufe0f", "\u200d", "👍", "👩🏽‍🚀", "🇩🇪", "4️⃣", "ℹ️", "❤️"} {
		fate := s.handle("family", ipc.Request{Type: ipc.TypeReact, Chat: "mem:work", Target: "a", Emoji: emoji})[0]
		if fate.Accepted != (i > 8) || i <= 8 && (fate.Refusal == nil || fate.Refusal.Code != "unknown_emoji") {
			t.Errorf("%q: %+v", emoji, fate)
		}
	}
}

// TestAScreenThatComesWhileAFileWaitsHolds also for bytes in the outbox.
func TestAScreenThatComesWhileAFileWaitsHolds(t *testing.T) {
	s := newSite(t)
	s.allow(func(g *groups.Group) { g.Approve.Files = true })
	for _, content := range []string{"hush", strings.Repeat("hush ", 10_000)} { // in the database, and in a file
		s.handle("family", file(s.write("family", "a.txt", content)))
	}
	rules, err := screen.New(nil, []screen.Pattern{{Rule: "hush", Content: "hush"}})
	check(t, err)
	s.set.deny, s.set.ask = rules, nil
	for _, id := range []string{"0001", "0002"} {
		if r := bridge.AsRefusal(s.Decide(t.Context(), id, true, "operator")); r == nil || r.Code != screen.Code {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// allowing is all actions but one.
func allowing(all []groups.Action, but groups.Action) (rest groups.Actions) {
	for _, a := range all {
		if a != but {
			rest = append(rest, string(a))
		}
	}
	return rest
}

// actionsOn is a request for each action on a message of a chat.
func actionsOn(chat groups.JID, target string) map[groups.Action]ipc.Request {
	return map[groups.Action]ipc.Request{
		groups.ActEdit:   {Type: ipc.TypeEdit, Chat: string(chat), Target: target, Text: "other words"},
		groups.ActReact:  {Type: ipc.TypeReact, Chat: string(chat), Target: target, Emoji: "👍"},
		groups.ActAsk:    {Type: ipc.TypeAsk, Chat: string(chat), Text: "now?", Choices: []string{"yes", "no"}},
		groups.ActUnsend: {Type: ipc.TypeUnsend, Chat: string(chat), Target: target},
	}
}

// TestAYesBroughtAnActionThatTheOperatorHadTakenAway while it waited.
func TestAYesBroughtAnActionThatTheOperatorHadTakenAway(t *testing.T) {
	s := acting(t, channel.Forever)
	s.allow(func(g *groups.Group) { g.Approve.Foreign, g.MaySendTo = true, []string{"work"} })
	s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "words", Chat: "mem:work"})
	check(t, s.Decide(t.Context(), s.last(), true, "operator"))
	requests := actionsOn("mem:work", s.shown("mem:work", 1)[0].ID)
	all := bridge.Can(s.opts.Channels[0], groups.Group{})
	if len(all) != len(requests) {
		t.Errorf("each of %v needs a request", all)
	}
	for _, action := range all {
		if action == groups.ActUnsend { // waits for nobody
			continue
		}
		if fate := s.handle("family", requests[action])[0]; !fate.Accepted {
			t.Fatalf("%s: %+v", action, fate)
		}
		s.allow(func(g *groups.Group) { g.Actions = allowing(all, action) })
		if r := bridge.AsRefusal(s.Decide(t.Context(), s.last(), true, "operator")); r == nil || r.Code != "not_allowed" {
			t.Errorf("%s: %+v", action, r)
		}
		s.allow(func(g *groups.Group) { g.Actions = groups.Actions{string(action)} })
		check(t, s.Decide(t.Context(), s.last(), true, "operator"))
		s.allow(func(g *groups.Group) { g.Actions = nil })
	}
}
