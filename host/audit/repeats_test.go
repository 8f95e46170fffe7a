package audit

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// An assistant that was refused as often as it could made the trail grow by 4 GB a day.
func TestRefusalsGrewTheTrailWithoutBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l, err := Open(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		const each = 10_000
		for range each {
			l.Add(Entry{Event: "refused", Group: "a", Code: "bad_path"}, Entry{Event: "refused", Group: "a", Code: "screened"})
		}
		l.Add(Entry{Event: "refused", Group: "b", Code: "bad_path"}, Entry{Event: "failed", Group: "a", Delivery: "d"})
		time.Sleep(refusedEvery)
		l.Add(Entry{Event: "refused", Group: "a", Code: "bad_path"})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, "000000000001.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		previous, n, refused := "", 0, map[string]int{}
		if _, err := lines(f, func(line []byte) error {
			e, err := parse(line)
			if err != nil || e.Previous != previous {
				t.Errorf("line %d breaks the chain: %v", e.Number, err)
			}
			previous, n = e.Hash, n+1
			if e.Event == "refused" {
				refused[e.Group+" "+e.Code] += max(1, e.Count)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n > 2*refusedMost+10 {
			t.Errorf("%d lines", n)
		}
		if refused["a bad_path"] != each+1 || refused["a screened"] != each || refused["b bad_path"] != 1 {
			t.Errorf("the trail says %v", refused)
		}
	})
}

// A group had sixty lines a minute whatever the code: an assistant used them up with malformed
// requests, and what it then tried to send had no line.
func TestMalformedRequestsHidWhatTheScreenRefused(t *testing.T) {
	l := &Log{}
	for range 10_000 {
		l.refused.takes(&Entry{Event: "refused", Group: "a", Code: "bad_json"})
	}
	for i := range refusedMost + 1 {
		if got := l.refused.takes(&Entry{Event: "refused", Group: "a", Code: "screened"}); got != (i < refusedMost) {
			t.Errorf("the screen's refusal %d has a line: %v", i+1, got)
		}
	}
}
