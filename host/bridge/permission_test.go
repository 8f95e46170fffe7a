package bridge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox"
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
	if _, err := ask("family"); !errors.Is(err, bridge.ErrNoPermissions) {
		t.Error("nobody can answer:", err)
	}
	s.opts.Approvers = func() string { return "ops" }
	s.Bridge = bridge.New(s.opts)
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
	if !strings.Contains(text, "`Ba'sh`") || !strings.Contains(text, "`*Run*\\nthis`") || len(text) > 2000 || !strings.Contains(text, "yes "+first) {
		t.Error(text)
	}
	check(t, s.DecideByID(t.Context(), first, false, "U1"))
	if p, _, err := s.Permission("family", "", first); p.Answer != ipc.Denied || err != nil {
		t.Error(p, err)
	}
	check(t, second(ask("family")))
	if err := s.DecideByID(t.Context(), strings.Repeat("0", 32), true, "U1"); !errors.Is(err, outbox.ErrNotFound) {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }
