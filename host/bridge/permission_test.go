package bridge_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestQuestionsForPermissionsAreBounded: a group has four at once, and another group its own.
// An answer makes room. What the session says stands in code marks, in its length.
func TestQuestionsForPermissionsAreBounded(t *testing.T) {
	s := newSite(t)
	ask := func(folder string) (string, error) {
		p, err := s.AskPermission(t.Context(), folder, "", ipc.Permission{Tool: "Ba`sh", Description: "*Run*\nthis", Input: strings.Repeat("x", 5000)})
		return p.ID, err
	}
	s.set.approvers = "ops"
	if _, err := ask("family"); !errors.Is(err, bridge.ErrNoPermissions) {
		t.Error("the operator does not let it ask:", err)
	}
	s.set.approvers, s.set.mayAsk = "", []string{"family", "work"}
	if _, err := ask("family"); !errors.Is(err, bridge.ErrNoPermissions) {
		t.Error("nobody can answer:", err)
	}
	s.set.approvers = "ops"
	var first string
	for i := range 4 {
		id, err := ask("family")
		check(t, err)
		if len(id) != 32 {
			t.Errorf("the id is %q", id)
		}
		if i == 0 {
			first = id
		}
	}
	if r := bridge.AsRefusal(second(ask("family"))); r == nil || r.Code != "busy" {
		t.Errorf("a fifth: %+v", r)
	}
	check(t, second(ask("work")))
	text := s.shown("mem:ops", 1)[0].Text
	if !strings.Contains(text, "“`Ba'sh`”") || !strings.Contains(text, "“`*Run*\\nthis`”") || len(text) > 2000 || strings.Contains(text, first) {
		t.Error(text)
	}
	if s.types("yes " + first) {
		t.Error("the session's own id answers it")
	}
	s.answers(text, false)
	if p, err := s.Permission(t.Context(), "family", "", first, 0); p.Answer != ipc.Denied || err != nil {
		t.Error(p, err)
	}
	check(t, second(ask("family")))
	if s.types("yes " + strings.Repeat("0", 32)) {
		t.Error("a guessed id answers something")
	}
}

// answerTo is the id that a question is answered with.
func answerTo(text string) string {
	return regexp.MustCompile("`yes ([0-9a-f]{32})`").FindStringSubmatch(text)[1]
}

// answers has the officer answer a question of the approvers' chat.
func (s *site) answers(question string, yes bool) {
	s.t.Helper()
	if !s.types(map[bool]string{true: "yes ", false: "no "}[yes] + answerTo(question)) {
		s.t.Errorf("it answers nothing: %s", question)
	}
}

// types has the officer write into the approvers' chat. taken: it answers something.
func (s *site) types(text string) (taken bool) {
	s.t.Helper()
	taken, err := s.Answer(s.t.Context(), groups.Address{Channel: "memory", JID: "mem:ops"}, &channel.Inbound{Sender: "U1", Text: text})
	check(s.t, err)
	return taken
}

// TestAYesDoesNotCountAfterTheOperatorsNo: the session may not ask any more since a reload.
func TestAYesDoesNotCountAfterTheOperatorsNo(t *testing.T) {
	s := newSite(t)
	s.set.approvers, s.set.mayAsk = "ops", []string{"family"}
	var ids [2]string
	for i := range ids {
		p, err := s.AskPermission(t.Context(), "family", "", ipc.Permission{Tool: "Bash"})
		check(t, err)
		ids[i] = p.ID
	}
	s.set.mayAsk = nil
	s.answers(s.shown("mem:ops", 1)[0].Text, true)
	if seen := s.shown("mem:ops", 3); !strings.Contains(seen[2].Text, "does not count") {
		t.Error(seen[2].Text)
	}
	for _, id := range ids {
		if p, err := s.Permission(t.Context(), "family", "", id, time.Hour); p.Answer != ipc.Denied || err != nil {
			t.Error(p, err)
		}
	}
}

// The host was killed before it answered the session's call. The session asked again, members saw a
// second question, and the answer to the first one reached nobody.
func TestAQuestionWhoseAnswerWasLostWasAskedTwice(t *testing.T) {
	s := newSite(t)
	s.set.approvers, s.set.mayAsk = "ops", []string{"family", "work"}
	asks := ipc.Permission{ID: strings.Repeat("7", 32), Tool: "Bash", Input: "ls"}
	first, err := s.AskPermission(t.Context(), "family", "t1", asks)
	check(t, err)
	again, err := s.AskPermission(t.Context(), "family", "t1", asks)
	check(t, err)
	if diff := cmp.Diff(first, again); diff != "" || first.ID != asks.ID {
		t.Error(diff)
	}
	for name, other := range map[string]func() error{
		"another group":  func() error { return second(s.AskPermission(t.Context(), "work", "t1", asks)) },
		"another thread": func() error { return second(s.AskPermission(t.Context(), "family", "", asks)) },
		"another tool": func() error {
			return second(s.AskPermission(t.Context(), "family", "t1", ipc.Permission{ID: asks.ID, Tool: "Write"}))
		},
	} {
		if r := bridge.AsRefusal(other()); r == nil || r.Code != ipc.CodeWrongValue {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s.answers(s.shown("mem:ops", 1)[0].Text, true)
	if p, err := s.Permission(t.Context(), "family", "t1", asks.ID, 0); p.Answer != ipc.Allowed || err != nil {
		t.Error(p, err)
	}
	if again, err := s.AskPermission(t.Context(), "family", "t1", asks); again.ID != asks.ID || err != nil {
		t.Error(again, err)
	}
	if all := s.shown("mem:ops", 2); len(all) != 2 { // the question, and who has answered it
		t.Errorf("members see %+v", all)
	}
}

func second[T any](_ T, err error) error { return err }
