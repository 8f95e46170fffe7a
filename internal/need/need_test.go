package need

import (
	"cmp"
	"fmt"
	"testing"
)

// ending records how a test ends, which its first call decides.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper()           {}
func (e *ending) Skip(args ...any)  { e.how = cmp.Or(e.how, "skipped: "+fmt.Sprint(args...)) }
func (e *ending) Fatal(args ...any) { e.how = cmp.Or(e.how, "failed: "+fmt.Sprint(args...)) }

func TestASkipSaysWhatIsLackingAndFailsIfAllTestsMustRun(t *testing.T) {
	for all, want := range map[string]string{
		"":  "skipped: this machine cannot open a page: no 1",
		"1": "failed: this machine cannot open a page: no 1",
	} {
		t.Setenv("LONGSHORE_TEST_ALL", all)
		var e ending
		if Lacking(&e, "open a page: no %d", 1); e.how != want {
			t.Errorf("LONGSHORE_TEST_ALL=%q: %q, want %q", all, e.how, want)
		}
	}
}
