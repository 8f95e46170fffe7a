package finding

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

type part []Finding

func (p part) Findings(context.Context) []Finding { return p }

func TestAFindingKeepsSinceWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l List
		began := time.Now()
		down := Finding{Name: Channel, Part: "channel slack", Severity: Fault, Cause: "lookup slack.com: no such host"}
		l.Collect(t.Context(), part{down})
		time.Sleep(time.Minute)
		down.Cause = "connection refused"
		if got := l.Collect(t.Context(), part{down})[0]; !got.Since.Equal(began) || got.Cause != down.Cause {
			t.Errorf("a minute later the finding is %+v; want its new cause, since %v", got, began)
		}
		l.Collect(t.Context())
		if got := l.Collect(t.Context(), part{down})[0].Since; !got.Equal(time.Now()) {
			t.Errorf("a finding that came back lasts since %v; want now", got)
		}
	})
}

func TestAPartThatKnowsSinceWhenIsBelieved(t *testing.T) {
	var l List
	at := time.Now().Add(-time.Hour)
	if got := l.Collect(t.Context(), part{{Name: Mount, Part: "group a", Since: at}})[0].Since; !got.Equal(at) {
		t.Errorf("since %v; want %v", got, at)
	}
}
