package bridge

import (
	"errors"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// asking are Settings that let every session ask.
type asking struct{ Settings }

func (asking) Approvers() string  { return "ops" }
func (asking) MayAsk(string) bool { return true }

// TestAPermissionWithoutAnAnswerIsNo, to its own conversation alone, and a yes that comes later
// changes nothing. Old questions are forgotten.
func TestAPermissionWithoutAnAnswerIsNo(t *testing.T) {
	b := Bridge{Options: Options{Settings: asking{}}}
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
