package operator_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/longshore-bridge/longshore/host/operator"
)

func TestTheLogIsRememberedAsItWasWritten(t *testing.T) {
	var b bytes.Buffer
	r := operator.NewRecent()
	log := r.Copy(slog.New(slog.NewTextHandler(&b, nil)))
	log.Debug("below the level")
	log.With("group", "family").Warn("turn broke", "error", errors.New("no answer"), "n", 3)
	log.WithGroup("sub").Info("named \x1b[31mred\u202e", "group", "none", "file", "a b", "empty", "")
	want := []operator.LogLine{
		{Level: "WARN", Group: "family", Message: "turn broke", Fields: `error="no answer" n=3`},
		{Level: "INFO", Message: `named \x1b[31mred\u202e`, Fields: `sub.group=none sub.file="a b" sub.empty=""`},
	}
	got := r.Lines(operator.LogQuery{})
	if diff := cmp.Diff(want, got.Lines, cmpopts.IgnoreFields(operator.LogLine{}, "Seq", "Time")); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(b.String(), "\n"); n != 2 {
		t.Errorf("the log itself has %d lines: %s", n, b.String())
	}
	if got := r.Lines(operator.LogQuery{Group: "family"}); len(got.Lines) != 1 || got.Lines[0].Group != "family" {
		t.Errorf("of the group: %+v", got)
	}
}

func TestAReaderFollowsTheLogByItsCursor(t *testing.T) {
	r := operator.NewRecent()
	log := r.Copy(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	first := r.Lines(operator.LogQuery{})
	if first.Lines == nil || len(first.Lines) != 0 {
		t.Errorf("an empty log: %+v", first)
	}
	log.Info("one")
	log.Info("two")
	second := r.Lines(operator.LogQuery{After: first.Next})
	if len(second.Lines) != 2 || second.Next != second.Lines[1].Seq {
		t.Errorf("got %+v", second)
	}
	if again := r.Lines(operator.LogQuery{After: second.Next}); len(again.Lines) != 0 || again.Next != second.Next {
		t.Errorf("nothing new, got %+v", again)
	}
	if last := r.Lines(operator.LogQuery{Limit: 1}); len(last.Lines) != 1 || last.Lines[0].Message != "two" {
		t.Errorf("the newest line: %+v", last)
	}
	// A reader that followed an earlier host gets every line of the next one.
	next := operator.NewRecent()
	next.Copy(log).Info("three")
	if got := next.Lines(operator.LogQuery{After: first.Next}); len(got.Lines) != 1 {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestALongLogTakesBoundedMemory(t *testing.T) {
	r := operator.NewRecent()
	log := r.Copy(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	long := strings.Repeat("ä", 3000)
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for range 300 { // more than are kept
				log.Info(long, "group", long, "a", long, "b", long)
			}
		})
	}
	g.Wait()
	for i := range 5 {
		log.Info(fmt.Sprint(i))
	}
	got := r.Lines(operator.LogQuery{}).Lines
	if len(got) != 1000 {
		t.Fatalf("%d lines", len(got))
	}
	for i, l := range got[1:] {
		if l.Seq <= got[i].Seq {
			t.Fatalf("line %d has the number %d after %d", i+1, l.Seq, got[i].Seq)
		}
	}
	if n := len([]rune(got[0].Message + got[0].Fields + got[0].Group)); n > 3*2000 {
		t.Errorf("a line of %d characters", n)
	}
	if got[999].Message != "4" {
		t.Errorf("the newest line is %q", got[999].Message)
	}
}

func TestTheClientReadsTheLog(t *testing.T) {
	dir := privateDir(t)
	serve(t, &operator.Server{Dir: dir, Control: &control{}})
	got, err := operator.NewClient(dir).Log(t.Context(), operator.LogQuery{After: 7, Group: "family", Limit: 3})
	want := operator.LogPage{Lines: []operator.LogLine{{Seq: 8, Group: "family", Message: "3"}}, Next: 8}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
