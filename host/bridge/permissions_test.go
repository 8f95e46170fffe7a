package bridge

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestAPermissionWithoutAnAnswerIsNo, to its own conversation alone, and a yes that comes later
// changes nothing. Old questions are forgotten.
func TestAPermissionWithoutAnAnswerIsNo(t *testing.T) {
	b := Bridge{Options: Options{Approvers: func() string { return "ops" }, MayAsk: func(string) bool { return true }}}
	now := time.Now()
	add := func(id string, expires time.Time) bool {
		return b.permissions.add(&permission{Permission: ipc.Permission{ID: id, Tool: "Bash"}, until: expires, approval: "asked " + id, folder: "family", thread: "t1", answered: make(chan struct{})}, now)
	}
	if !add("over", now.Add(-time.Second)) || !add("old", now.Add(-2*permissionKept)) || !add("open", now.Add(time.Minute)) {
		t.Fatal("not added")
	}
	p, answered, err := b.Permission("family", "t1", "over")
	if err != nil || p.Answer != ipc.Denied {
		t.Errorf("%+v, %v", p, err)
	}
	<-answered
	if words := b.answerPermission("asked over", true, "U1"); words != "Somebody has answered before, or the time is over." {
		t.Error(words)
	}
	if p, _, _ := b.Permission("family", "t1", "over"); p.Answer != ipc.Denied {
		t.Error(p.Answer)
	}
	if p, _, err := b.Permission("family", "t1", "open"); p.Answer != "" || err != nil {
		t.Error(p, err)
	}
	for _, other := range [][3]string{{"family", "", "open"}, {"work", "t1", "open"}, {"family", "t1", "nothing"}, {"family", "t1", "old"}} {
		if _, _, err := b.Permission(other[0], other[1], other[2]); !errors.Is(err, ErrNoPermission) {
			t.Errorf("%v: %v", other, err)
		}
	}
	if words := b.answerPermission("asked nothing", true, "U1"); words != "" {
		t.Error(words)
	}
}

// TestASessionsWordsDoNotPassForTheHosts: in a poll, which shows no code marks, either; and
// what is cut off is told. However it is written, a question stays short.
func TestASessionsWordsDoNotPassForTheHosts(t *testing.T) {
	for words, want := range map[string]string{
		"":                        "(nothing)",
		"ls":                      "“`ls`”",
		"a”. Input: “`ls`. ":      "“`a\". Input: \"'ls'. `”",
		"rm\u200b\nx\ufe01":       "“`rm\\u200b\\nx`”",
		"0123456789…":             "“`0123456789…`”",
		strings.Repeat("x", 21):   "“`" + strings.Repeat("x", 19) + "…`” (the rest is cut off)",
		strings.Repeat("\n", 600): "“`" + strings.Repeat(`\n`, 9) + `\` + "…`” (the rest is cut off)",
	} {
		if got := quoted(words, 20); got != want {
			t.Errorf("%q: %s, not %s", words, got, want)
		}
	}
}
